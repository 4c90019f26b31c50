"""The request messages of the Gemini API as a table: message -> fields -> type.

Types: a scalar (`string bool int32 int64 float bytes duration timestamp struct value`), `enum:Name`, a message name,
`[T]` repeated, `{T}` map of string to T. `struct` is any JSON object and `value` any JSON value, both kept verbatim.
Source: request fields of the Gemini API, read in the official SDK's converters for the Gemini API; enum values from
its types. Fields that exist on Vertex AI only are absent, so they are refused as unknown.
"""

import re
from typing import Final

_ROWS: Final = """
GenerateContentRequest: model=string contents=[Content] systemInstruction=Content tools=[Tool] toolConfig=ToolConfig
 safetySettings=[SafetySetting] generationConfig=GenerationConfig cachedContent=string labels={string}
 serviceTier=enum:ServiceTier store=bool continuationToken=bytes
Content: role=string parts=[Part]
Part: text=string thought=bool thoughtSignature=bytes inlineData=Blob fileData=FileData functionCall=FunctionCall
 functionResponse=FunctionResponse executableCode=ExecutableCode codeExecutionResult=CodeExecutionResult
 toolCall=ToolCall toolResponse=ToolResponse videoMetadata=VideoMetadata mediaResolution=PartMediaResolution
 partMetadata=struct audioTranscription=struct mediaProcessing=struct speechMetadata=struct documentMetadata=struct
 spreadsheetMetadata=struct audioMetadata=struct
Blob: mimeType=string data=bytes displayName=string
FileData: mimeType=string fileUri=string displayName=string
FunctionCall: id=string name=string args=struct
FunctionResponse: id=string name=string response=struct parts=[FunctionResponsePart] willContinue=bool
 scheduling=enum:Scheduling
FunctionResponsePart: inlineData=Blob fileData=FileData
ExecutableCode: id=string language=enum:Language code=string
CodeExecutionResult: id=string outcome=enum:Outcome output=string
ToolCall: id=string toolType=string args=struct
ToolResponse: id=string toolType=string response=struct
VideoMetadata: startOffset=duration endOffset=duration fps=float
PartMediaResolution: level=enum:MediaResolution numTokens=int32
Tool: functionDeclarations=[FunctionDeclaration] googleSearch=GoogleSearch googleSearchRetrieval=GoogleSearchRetrieval
 urlContext=Empty codeExecution=Empty googleMaps=GoogleMaps fileSearch=FileSearch computerUse=ComputerUse
 mcpServers=[McpServer]
Empty:
GoogleSearch: searchTypes=SearchTypes timeRangeFilter=Interval
SearchTypes: webSearch=Empty imageSearch=Empty
Interval: startTime=timestamp endTime=timestamp
GoogleSearchRetrieval: dynamicRetrievalConfig=DynamicRetrievalConfig
DynamicRetrievalConfig: mode=string dynamicThreshold=float
GoogleMaps: enableWidget=bool
FileSearch: fileSearchStoreNames=[string] topK=int32 metadataFilter=string
ComputerUse: environment=enum:Environment excludedPredefinedFunctions=[string]
McpServer: name=string streamableHttpTransport=struct
FunctionDeclaration: name=string description=string parameters=Schema parametersJsonSchema=value response=Schema
 responseJsonSchema=value behavior=enum:Behavior
Schema: type=enum:Type format=string title=string description=string nullable=bool enum=[string] items=Schema
 maxItems=int64 minItems=int64 properties={Schema} required=[string] minProperties=int64 maxProperties=int64
 minLength=int64 maxLength=int64 pattern=string example=value anyOf=[Schema] propertyOrdering=[string] default=value
 minimum=float maximum=float
ToolConfig: functionCallingConfig=FunctionCallingConfig retrievalConfig=RetrievalConfig
 includeServerSideToolInvocations=bool
FunctionCallingConfig: mode=enum:CallingMode allowedFunctionNames=[string]
RetrievalConfig: latLng=LatLng languageCode=string
LatLng: latitude=float longitude=float
SafetySetting: category=enum:HarmCategory threshold=enum:HarmThreshold
GenerationConfig: temperature=float topP=float topK=float candidateCount=int32 maxOutputTokens=int32
 stopSequences=[string] presencePenalty=float frequencyPenalty=float seed=int32 responseLogprobs=bool logprobs=int32
 responseMimeType=string responseSchema=Schema responseJsonSchema=value responseModalities=[enum:Modality]
 mediaResolution=enum:MediaResolution speechConfig=SpeechConfig thinkingConfig=ThinkingConfig imageConfig=ImageConfig
 enableEnhancedCivicAnswers=bool audioTranscriptionConfig=struct
ThinkingConfig: includeThoughts=bool thinkingBudget=int32 thinkingLevel=enum:ThinkingLevel
ImageConfig: aspectRatio=string imageSize=string
SpeechConfig: voiceConfig=VoiceConfig multiSpeakerVoiceConfig=MultiSpeakerVoiceConfig languageCode=string
MultiSpeakerVoiceConfig: speakerVoiceConfigs=[SpeakerVoiceConfig]
SpeakerVoiceConfig: speaker=string voiceConfig=VoiceConfig
VoiceConfig: prebuiltVoiceConfig=PrebuiltVoiceConfig
PrebuiltVoiceConfig: voiceName=string
InternalRequest: contents=[Content] systemInstruction=Content tools=[Tool] toolConfig=ToolConfig
 safetySettings=[SafetySetting] generationConfig=GenerationConfig cachedContent=string labels={string}
 sessionId=string continuationToken=bytes
InternalCountRequest: model=string contents=[Content]
CountTokensRequest: contents=[Content] generateContentRequest=GenerateContentRequest
EmbedContentRequest: model=string content=Content taskType=enum:TaskType title=string outputDimensionality=int32
 autoTruncate=bool
BatchEmbedContentsRequest: requests=[EmbedContentRequest]
CachedContent: name=string model=string displayName=string contents=[Content] systemInstruction=Content tools=[Tool]
 toolConfig=ToolConfig ttl=duration expireTime=timestamp
CreateFileRequest: file=File
File: name=string displayName=string mimeType=string sizeBytes=int64
"""

#: Fields of which a message may have one. Source: a second one is refused, third-party.
ONEOF: Final = {
    "Part": frozenset(
        {
            "text",
            "inlineData",
            "fileData",
            "functionCall",
            "functionResponse",
            "executableCode",
            "codeExecutionResult",
            "toolCall",
            "toolResponse",
        }
    )
}

ENUMS: Final[dict[str, frozenset[str]]] = {
    name: frozenset(values.split())
    for name, values in {
        "ServiceTier": "unspecified standard flex priority SERVICE_TIER_UNSPECIFIED STANDARD FLEX PRIORITY",
        "Scheduling": "SCHEDULING_UNSPECIFIED SILENT WHEN_IDLE INTERRUPT",
        "Language": "LANGUAGE_UNSPECIFIED PYTHON",
        "Outcome": "OUTCOME_UNSPECIFIED OUTCOME_OK OUTCOME_FAILED OUTCOME_DEADLINE_EXCEEDED",
        "MediaResolution": "MEDIA_RESOLUTION_UNSPECIFIED MEDIA_RESOLUTION_LOW MEDIA_RESOLUTION_MEDIUM "
        "MEDIA_RESOLUTION_HIGH MEDIA_RESOLUTION_ULTRA_HIGH",
        "Environment": "ENVIRONMENT_UNSPECIFIED ENVIRONMENT_BROWSER",
        "Behavior": "UNSPECIFIED BLOCKING NON_BLOCKING",
        "Type": "TYPE_UNSPECIFIED STRING NUMBER INTEGER BOOLEAN ARRAY OBJECT NULL "
        "string number integer boolean array object null",
        "CallingMode": "MODE_UNSPECIFIED AUTO ANY NONE VALIDATED",
        "HarmCategory": "HARM_CATEGORY_UNSPECIFIED HARM_CATEGORY_HARASSMENT HARM_CATEGORY_HATE_SPEECH "
        "HARM_CATEGORY_SEXUALLY_EXPLICIT HARM_CATEGORY_DANGEROUS_CONTENT HARM_CATEGORY_CIVIC_INTEGRITY "
        "HARM_CATEGORY_JAILBREAK",
        "HarmThreshold": "HARM_BLOCK_THRESHOLD_UNSPECIFIED BLOCK_LOW_AND_ABOVE BLOCK_MEDIUM_AND_ABOVE "
        "BLOCK_ONLY_HIGH BLOCK_NONE OFF",
        "Modality": "MODALITY_UNSPECIFIED TEXT IMAGE AUDIO VIDEO",
        "ThinkingLevel": "THINKING_LEVEL_UNSPECIFIED MINIMAL LOW MEDIUM HIGH XHIGH",
        "TaskType": "TASK_TYPE_UNSPECIFIED RETRIEVAL_QUERY RETRIEVAL_DOCUMENT SEMANTIC_SIMILARITY CLASSIFICATION "
        "CLUSTERING QUESTION_ANSWERING FACT_VERIFICATION CODE_RETRIEVAL_QUERY",
    }.items()
}


def snake(name: str) -> str:
    """`inlineData` -> `inline_data`, as field paths in Google's texts are written."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def _parse(rows: str) -> dict[str, dict[str, tuple[str, str, str]]]:
    messages: dict[str, dict[str, tuple[str, str, str]]] = {}
    for row in rows.strip().replace("\n ", " ").splitlines():
        message, _, declared = row.partition(":")
        fields: dict[str, tuple[str, str, str]] = {}
        for item in declared.split():
            name, _, kind = item.partition("=")
            fields[name] = fields[snake(name)] = (name, snake(name), kind)
        messages[message] = fields
    return messages


#: Message -> accepted spelling -> (camelCase name, snake_case name, type). Both spellings are accepted at every level.
MESSAGES: Final = _parse(_ROWS)
