"""A throw-away certificate authority and a certificate for localhost."""

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Certificates:
    """Writes `ca.pem` and `server.pem` into a folder."""

    def __init__(self, folder: Path) -> None:
        self.ca_file = folder / "ca.pem"
        self._server_file = folder / "server.pem"
        ca_key = ec.generate_private_key(ec.SECP256R1())
        ca = _certificate("ECHO test CA", ca_key.public_key(), "ECHO test CA", ca_key, is_ca=True)
        key = ec.generate_private_key(ec.SECP256R1())
        leaf = _certificate("localhost", key.public_key(), "ECHO test CA", ca_key, is_ca=False)
        self.ca_file.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self._server_file.write_bytes(private + leaf.public_bytes(serialization.Encoding.PEM))

    def server_context(self, *protocols: str) -> ssl.SSLContext:
        """For a server that offers these ALPN protocols."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._server_file)
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    @property
    def server_file(self) -> str:
        return str(self._server_file)


def _certificate(
    name: str, public_key: ec.EllipticCurvePublicKey, issuer: str, signer: ec.EllipticCurvePrivateKey, *, is_ca: bool
) -> x509.Certificate:
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=36_500))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
    )
    return builder.sign(signer, hashes.SHA256())
