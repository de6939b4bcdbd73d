/**
 * The hub's only list of what credentials look like. Logs and pages redact by it, prompts that match it are not
 * cached, and installs ask for a variable instead. Callers combine the patterns; none keeps a list of its own.
 */

/** Credentials that a service writes in a form of its own. The whole match is secret. */
const wholes: readonly string[] = [
  // Keys in PEM, also where the end was cut off, and PuTTY's.
  String.raw`-----BEGIN [A-Z0-9 ]*PRIVATE KEY[^]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|$)`,
  String.raw`PuTTY-User-Key-File-\d[^]*?(?:Private-MAC: ?[a-f0-9]+|$)`,
  // JSON web tokens.
  String.raw`(?<![A-Za-z0-9])eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?`,
  // AWS, Google, DigitalOcean.
  String.raw`(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`,
  String.raw`(?<![A-Za-z0-9])(?:AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|do[opr]_v1_[a-f0-9]{32,})`,
  // GitHub, GitLab, npm, PyPI, Docker, Hugging Face, HashiCorp.
  String.raw`(?<![A-Za-z0-9])(?:gh[pousr]_\w{8,}|github_pat_\w{8,}|gl(?:pat|dt|rt|cbt)-[\w-]{8,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{30,}|dckr_pat_[\w-]{16,}|hf_[A-Za-z0-9]{16,}|hv[sbr]\.[\w-]{16,})`,
  // OpenAI, Anthropic, Stripe, Slack, SendGrid, Twilio, Telegram, Shopify, Linear, Notion, age.
  String.raw`(?<![A-Za-z0-9])(?:sk-[\w-]{8,}|[srp]k_(?:live|test)_\w{8,}|whsec_\w{16,}|xox[abeoprs]-[\w-]{8,}|SG\.[\w-]{16,}\.[\w-]{16,}|(?:SK|AC)[a-f0-9]{32}\b|\d{8,10}:AA[\w-]{30,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|(?:lin_api|ntn)_\w{20,}|secret_\w{32,}|AGE-SECRET-KEY-1[A-Z0-9]{20,})`,
];

/** Matches a credential in a service's own form. Global: use it with `replace` and `search` only. */
export const credential = new RegExp(wholes.join('|'), 'g');

/** Credentials that follow text which says so. Group 1 is that text and stays; the rest of the match is secret. */
export const introducedCredentials: readonly RegExp[] = [
  // A user's password in an address, and addresses that are a key by themselves.
  /(\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:@/"'<>]{0,200}:)[^\s@/"'<>]{1,400}(?=@)/gi,
  /(\bhooks\.slack\.com\/services\/)\w+\/\w+\/\w+/gi,
  /([?&]sig=)[\w%+/=-]{20,}/gi,
  /(\bAccountKey=)[\w+/=]{20,}/gi,
  // Headers. A digest names its parts up to the end of the line.
  /(\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:bearer|basic|token|negotiate|ntlm|api-?key)\s{1,4})(?!\[redacted\])[^\s"',;]{3,}/gi,
  /(\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?digest\s{1,4})(?!\[redacted\])[^\n]{3,}/gi,
  /(\b(?:set-)?cookie["']?\s{0,3}:\s{0,3}["']?[\w.-]{1,100}=)[^\s;]{8,}/gi,
  // A scheme by itself. The words of a sentence after it have neither a figure nor such a length.
  /(\b(?:bearer|basic|digest)\s+)(?=[\w.~+/=-]*\d|[\w.~+/=-]{20})[\w.~+/=-]{6,}/gi,
  // curl's user (not docker's uid:gid), .netrc and .pgpass.
  /((?:^|\s)(?:-u|--user)\s+(?!\d+:\d+(?:\s|$))[^\s:]{1,100}:)\S{3,}/gm,
  /(^[ \t]{0,8}machine\s+\S+\s+login\s+\S+\s+password\s+)\S+/gim,
  /(^(?!\d+:)[\w.*-]{1,200}:\d{2,5}:[^:\s]{1,100}:[^:\s]{1,100}:)\S{3,}$/gm,
];

/** `Basic` and a word, which is a credential if it decodes to `user:password`. */
export const basicCredential = /(\bbasic\s+)([A-Za-z0-9+/_-]{4,}={0,2})/gi;

/** True for base64 of printable text with a colon in it. */
export const isUserAndPassword = (base64: string): boolean =>
  /^[^\p{Cc}:\ufffd]*:[^\p{Cc}\ufffd]+$/u.test(Buffer.from(base64, 'base64').toString());

/** The words that names of secrets end with, in any case, with `_`, `-` or nothing between two of them. */
export const secretWords = String.raw`authorization|cookies?|credentials?|pass(?:word|wd|phrase|code|wort)|(?<![a-z])pass|pwd|kennwort|contraseña|mot de passe|secrets?|tokens?|(?<![a-z])pat|(?:api|access|private|signing|encryption|auth|account)[_-]?keys?(?:[_-]?id)?`;

/** Names that end like those of secrets and only count, or name a place in a list. */
export const harmlessWords = String.raw`(?:progress|next_?page|page|cursor|continuation)_?token|[\w.-]{0,60}tokens(?=["']?\s{0,4}(?:=>|:=|=|:)\s{0,4}["']?\d+\b)`;

/** A possible name of a secret, for a regular expression with the flag `i`: bounded, so that it takes linear time. */
export const secretName = String.raw`(?!${harmlessWords})[\w.-]{0,60}?(?:${secretWords})`;

/**
 * `NAME=value`, `name: "value"`, `name => 'value'`. Groups: 1 everything before the value, 2 the spaces and the
 * operator, 3 the quote, 4 the value in quotes, 5 the value without.
 */
export const assignment = new RegExp(
  String.raw`((?<!\w)${secretName}["'\x60\])]{0,2}(\s{0,4}(?:=>|:=|=|:)(?!=)\s{0,4}))(?!\[redacted\])(?:(["'\x60])([^"'\x60\n]{3,400})\3?|([^\s"'\x60&;,]{3,}))`,
  'gi',
);

/** Stands where a secret would: a type, a place to read it from, or a place holder. */
const placeholder =
  /^(?:string\S*|str|text|varchar\S*|char\S*|number|int\w*|bool\w*|true|false|null|nil|none|undefined|void|unknown|any|never|object|optional\S*|required|missing|invalid|expired|empty|yes|no|self\S*|this\S*|await|async|new|function\S*|get\w*\(\S*|read\S*\(\S*|req\S*|request\S*|process\.env\S*|import\.meta\S*|os\.\S*|env\S*|config\S*|settings\.\S*|options\.\S*|props\.\S*|data\.\S*|user\.\S*|z\.\S*|Promise<\S*|\.{3}|\*+|x{3,}|<\S*|\$\S+|\{\S*|%\S+%?|your\S*|my\S*|example\S*|changeme|redacted|\[\S*|\(\S*)$/i;

/** True for what is written in place of a secret, such as `string`, `process.env.TOKEN` or `<your key>`. */
export const isPlaceholder = (value: string): boolean =>
  placeholder.test(value.replace(/[)}\]]+$/, ''));

/** Whole names of members, variables, headers and options, in small letters with `_` between the words. */
const wholeName = new RegExp(`^(?:env|(?:.*_)?(?:${secretWords}|headers|jwt|bearer|auth|dsn))$`);
const harmlessName = new RegExp(`^(?:${harmlessWords}|.*tokens)$`);

/** Is this what a variable, header, option or member is called that holds a credential? */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/^-+/, '')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/[-. ]/g, '_')
    .toLowerCase();
  return wholeName.test(words) && !harmlessName.test(words);
}

const anywhere = new RegExp(`${secretWords}|(?:^|[_-])(?:key|auth)$`, 'i');

/** Does the name speak of a secret anywhere, as `GITHUB_TOKEN_FILE` does? For where a person decides. */
export const mentionsSecret = (name: string): boolean => isSecretName(name) || anywhere.test(name);
