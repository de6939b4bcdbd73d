/** What services and protocols write as a credential and as nothing else. */
const shapes = new RegExp(
  [
    // Keys in PEM, also where the end was cut off.
    String.raw`-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----[^]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|$)`,
    // JSON web tokens.
    String.raw`(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?`,
    // AWS, Google, DigitalOcean.
    String.raw`(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`,
    String.raw`(?<![A-Za-z0-9])(?:AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|do[opr]_v1_[a-f0-9]{32,})`,
    // GitHub, GitLab, npm, PyPI, Docker, Hugging Face, HashiCorp.
    String.raw`(?<![A-Za-z0-9])(?:gh[pousr]_\w{8,}|github_pat_\w{8,}|gl(?:pat|dt|rt|cbt)-[\w-]{8,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{30,}|dckr_pat_[\w-]{16,}|hf_[A-Za-z0-9]{16,}|hv[sbr]\.[\w-]{16,})`,
    // OpenAI, Anthropic, Stripe, Slack, SendGrid, Telegram, Shopify, Linear, Notion, age.
    String.raw`(?<![A-Za-z0-9])(?:sk-[\w-]{8,}|[srp]k_(?:live|test)_\w{8,}|whsec_\w{16,}|xox[abeoprs]-[\w-]{8,}|SG\.[\w-]{16,}\.[\w-]{16,}|\d{8,10}:AA[\w-]{30,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|(?:lin_api|ntn)_\w{20,}|AGE-SECRET-KEY-1[A-Z0-9]{20,})`,
  ].join('|'),
  'g',
);

/** A user's password in an address. */
const inAddress = /(\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:@/"'<>]{0,200}:)[^\s@/"'<>]{1,400}(?=@)/gi;
/** "Bearer xyz" and "Basic xyz": one that is a word of a sentence has neither a figure nor such a length. */
const scheme = /\b(bearer|basic|digest)(\s+)(?=[\w.~+/=-]*\d|[\w.~+/=-]{20})[\w.~+/=-]{6,}/gi;

const names = String.raw`authorization|cookie|credential|pass(?:word|wd|phrase)|pwd|secret|token|(?:api|access|private|signing|encryption|auth)[_-]?key(?:[_-]?id)?`;
const memberName = String.raw`(?!(?:progress|next_?page|page|continuation)_?token)[\w.-]{0,60}?(?:${names})`;
/** A member of JSON, also in a text that was cut. */
const member = new RegExp(
  String.raw`("${memberName}"\s{0,4}:\s{0,4})(?:"(?:[^"\\]|\\[^])*"?|\d[\d.]*)`,
  'gi',
);
/** The same in JSON that stands in a string of other JSON. */
const innerMember = new RegExp(
  String.raw`(\\"${memberName}\\"\s{0,4}:\s{0,4}\\")(?:[^"\\]|\\\\\\?[^]|\\[^"\\])+`,
  'gi',
);
/** `NAME=value`, `--name=value` and `?name=value`. */
const assigned = new RegExp(
  String.raw`(?<![\w])([\w.-]{0,60}?(?:${names})=["']?)[^\s"'&;,]{3,}`,
  'gi',
);
/** `Name: value`, where the value is no word of a sentence: it has a figure in it. */
const headed = new RegExp(
  String.raw`(?<![\w])([\w.-]{0,60}?(?:${names}):\s{0,4}["']?)(?!\[redacted\])(?=[^\s"',;]*\d)[^\s"',;]{6,}`,
  'gi',
);
/** `--token value`. */
const option = new RegExp(
  String.raw`((?:^|\s)--?[\w-]{0,60}?(?:${names})\s{1,4})(?!-)[^\s"']{4,}`,
  'gi',
);

/** Most texts name nothing of the kind, and are not searched for what would follow it. */
const anyName = new RegExp(names, 'i');

/** The text with `instead` in place of whatever looks like a credential. Takes time linear in its length. */
export function redactShapes(text: string, instead: string): string {
  const shown = text
    .replace(shapes, instead)
    .replace(inAddress, `$1${instead}`)
    .replace(scheme, `$1$2${instead}`);
  if (!anyName.test(shown)) return shown;
  return shown
    .replace(member, `$1"${instead}"`)
    .replace(innerMember, `$1${instead}`)
    .replace(assigned, `$1${instead}`)
    .replace(headed, `$1${instead}`)
    .replace(option, `$1${instead}`);
}
