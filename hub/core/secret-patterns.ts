/**
 * The hub's only list of credential patterns. They are used to redact logs and pages, to keep prompts with credentials
 * out of the cache, and to replace credentials by variables in installs. Callers combine these patterns and define none
 * themselves.
 */

/** Credentials with a format of their own. The whole match is secret. */
const distinctCredentials: readonly string[] = [
  // PEM keys, including truncated ones, and PuTTY keys.
  String.raw`-----BEGIN [A-Z0-9 ]*PRIVATE KEY[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----|$)`,
  String.raw`PuTTY-User-Key-File-\d[^]*?(?:Private-MAC: ?[a-f0-9]+|$)`,
  // JSON web tokens. If no token can begin here, none can begin later in the same word, so later positions are not
  // tried.
  String.raw`(?<![A-Za-z0-9])eyJ(?<!(?<![A-Za-z0-9])eyJ[\w-]*?eyJ)[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?`,
  // Keys of AWS, Google, DigitalOcean.
  String.raw`(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`,
  String.raw`(?<![A-Za-z0-9])(?:AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|do[opr]_v1_[a-f0-9]{32,})`,
  // Tokens of GitHub, GitLab, npm, PyPI, Docker, Hugging Face, HashiCorp.
  String.raw`(?<![A-Za-z0-9])(?:gh[pousr]_\w{8,}|github_pat_\w{8,}|gl(?:pat|dt|rt|cbt)-[\w-]{8,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{30,}|dckr_pat_[\w-]{16,}|hf_[A-Za-z0-9]{16,}|hv[sbr]\.[\w-]{16,})`,
  // Keys of OpenAI, Anthropic, Stripe, Slack, SendGrid, Twilio, Telegram, Shopify, Linear, Notion, age.
  String.raw`(?<![A-Za-z0-9])(?:sk-[\w-]{8,}|[srp]k_(?:live|test)_\w{8,}|whsec_\w{16,}|xox[abeoprs]-[\w-]{8,}|SG\.[\w-]{16,}\.[\w-]{16,}|(?:SK|AC)[a-f0-9]{32}\b|\d{8,10}:AA[\w-]{30,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|(?:lin_api|ntn)_\w{20,}|secret_\w{32,}|AGE-SECRET-KEY-1[A-Z0-9]{20,})`,
];

/**
 * Matches a credential with a format of its own. The regular expression is global: use it only with `replace` and
 * `search`.
 */
export const credential = new RegExp(distinctCredentials.join('|'), 'g');

/**
 * Credentials that are recognized by the text before them. Group 1 is that text, which is not redacted; the rest of the
 * match is secret.
 */
export const introducedCredentials: readonly RegExp[] = [
  // A password in a URL, and URLs that contain a key.
  /(\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:@/"'<>]{0,200}:)[^\s@/"'<>]{1,400}(?=@)/gi,
  /(\bhooks\.slack\.com\/services\/)\w+\/\w+\/\w+/gi,
  /([?&]sig=)[\w%+/=-]{20,}/gi,
  /(\bAccountKey=)[\w+/=]{20,}/gi,
  // Credentials in headers. The parameters of `Digest` extend to the end of the line.
  /(\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:bearer|basic|token|negotiate|ntlm|api-?key)\s{1,4})(?!\[redacted\])[^\s"',;]{3,}/gi,
  /(\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?digest\s{1,4})(?!\[redacted\])[^\n]{3,}/gi,
  /(\b(?:set-)?cookie["']?\s{0,3}:\s{0,3}["']?[\w.-]{1,100}=)[^\s;]{8,}/gi,
  // An authentication scheme without the header name. Requiring a digit or 20 characters excludes ordinary words.
  /(\b(?:bearer|basic|digest)\s+)(?=[\w.~+/=-]*\d|[\w.~+/=-]{20})[\w.~+/=-]{6,}/gi,
  // Passwords in curl's `--user` (but not docker's uid:gid), .netrc and .pgpass.
  /((?:^|\s)(?:-u|--user)\s+(?!\d+:\d+(?:\s|$))[^\s:]{1,100}:)\S{3,}/gm,
  /(^[ \t]{0,8}machine\s+\S+\s+login\s+\S+\s+password\s+)\S+/gim,
  /(^(?!\d+:)[\w.*-]{1,200}:\d{2,5}:[^:\s]{1,100}:[^:\s]{1,100}:)\S{3,}$/gm,
];

/** Matches `Basic` and a word, which is a credential if it decodes to `user:password`. */
export const basicCredential = /(\bbasic\s+)([A-Za-z0-9+/_-]{4,}={0,2})/gi;

/** True if the base64 text decodes to printable text that contains a colon. */
export const isUserAndPassword = (base64: string): boolean =>
  /^[^\p{Cc}:\ufffd]*:[^\p{Cc}\ufffd]+$/u.test(Buffer.from(base64, 'base64').toString());

/** Words that end the names of secrets, in any case, with `_`, `-` or nothing between the words. */
export const secretWords = String.raw`authorization|cookies?|credentials?|pass(?:word|wd|phrase|code|wort)|(?<![a-z])pass|pwd|kennwort|contraseña|mot de passe|secrets?|tokens?|(?<![a-z])pat(?![a-z])|(?:api|access|private|signing|encryption|auth|account)[_-]?keys?(?:[_-]?id)?`;

/** Names that end like a secret but are those of a count or a pagination cursor. */
const harmlessWords = String.raw`(?:progress|next_?page|page|cursor|continuation)_?token|[\w.-]{0,60}tokens(?=["']?\s{0,4}(?:=>|:=|=|:)\s{0,4}["']?\d+\b)`;

/**
 * Possible name of a secret, for a regular expression with the flag `i`. Its length is bounded so that matching takes
 * linear time.
 */
export const secretName = String.raw`(?!${harmlessWords})[\w.-]{0,60}?(?:${secretWords})`;

/**
 * Matches `NAME=value`, `name: "value"`, `name => 'value'`. Groups: 1 everything before the value, 2 the spaces and the
 * operator, 3 the quote, 4 the value in quotes, 5 the value without quotes.
 */
export const assignment = new RegExp(
  String.raw`((?<!\w)${secretName}["'\x60\])]{0,2}(\s{0,4}(?:=>|:=|=|:)(?!=)\s{0,4}))(?!\[redacted\])(?:(["'\x60])([^"'\x60\n]{3,400})\3?|([^\s"'\x60&;,]{3,}))`,
  'gi',
);

/** Placeholders that appear where a secret would be: type names, expressions that read a value, `<your key>`. */
const placeholder =
  /^(?:string\S*|str|text|varchar\S*|char\S*|number|int\w*|bool\w*|true|false|null|nil|none|undefined|void|unknown|any|never|object|optional\S*|required|missing|invalid|expired|empty|yes|no|self\S*|this\S*|await|async|new|function\S*|get\w*\(\S*|read\S*\(\S*|req\S*|request\S*|process\.env\S*|import\.meta\S*|os\.\S*|env\S*|config\S*|settings\.\S*|options\.\S*|props\.\S*|data\.\S*|user\.\S*|z\.\S*|Promise<\S*|\.{3}|\*+|x{3,}|<\S*|\$\S+|\{\S*|%\S+%?|your\S*|my\S*|example\S*|changeme|redacted|\[\S*|\(\S*)$/i;

/** True for a placeholder such as `string`, `process.env.TOKEN` or `<your key>`. */
export const isPlaceholder = (value: string): boolean =>
  placeholder.test(value.replace(/[)}\]]+$/, ''));

/** Matches complete names of members, variables, headers and options, lowercase with `_` between words. */
const wholeName = new RegExp(`^(?:env|(?:.*_)?(?:${secretWords}|headers|jwt|bearer|auth|dsn))$`);
const harmlessName = new RegExp(`^(?:${harmlessWords}|.*tokens)$`);

/** True if a variable, header, option or member with this name usually holds a credential. */
export function isSecretName(name: string): boolean {
  const words = name
    .replace(/^-+/, '')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/[-. ]/g, '_')
    .toLowerCase();
  return wholeName.test(words) && !harmlessName.test(words);
}

const anywhere = new RegExp(`${secretWords}|(?:^|[_-])(?:key|auth)$`, 'i');

/**
 * True if the name mentions a secret anywhere, such as `GITHUB_TOKEN_FILE`. Only for questions that a person answers,
 * because it matches too often.
 */
export const mentionsSecret = (name: string): boolean => isSecretName(name) || anywhere.test(name);
