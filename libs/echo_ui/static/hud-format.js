// Numbers as the reader's language writes them.

export class Format {
  constructor(tag) {
    this.tag = tag;
    this.whole = new Intl.NumberFormat(tag);
    this.compact = new Intl.NumberFormat(tag, { notation: "compact", maximumSignificantDigits: 3 });
    this.share = new Intl.NumberFormat(tag, { style: "percent", maximumSignificantDigits: 2 });
    const dollars = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol", minimumFractionDigits: 2 };
    this.cents = new Intl.NumberFormat(tag, { ...dollars, maximumFractionDigits: 2 });
    this.fractions = new Intl.NumberFormat(tag, { ...dollars, maximumFractionDigits: 4 });
  }

  tokens(count) {
    return this.whole.format(count);
  }

  short(count) {
    return this.compact.format(count);
  }

  percent(fraction) {
    return this.share.format(fraction >= 0.1 ? Math.round(fraction * 100) / 100 : fraction);
  }

  /** US dollars; "–" when the price is not known. */
  money(usd) {
    if (usd === null || usd === undefined) return "–";
    if (usd > 0 && usd < 0.0001) return `< ${this.fractions.format(0.0001)}`;
    return (usd < 0.1 ? this.fractions : this.cents).format(usd);
  }
}
