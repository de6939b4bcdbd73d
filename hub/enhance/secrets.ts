/** Texts that a service, a protocol or a tool writes as a credential and as nothing else. */
const known = [
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/,
  /\bPuTTY-User-Key-File-\d/,
  // JSON web tokens.
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/,
  // AWS, Google, Azure, DigitalOcean.
  /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/,
  /\bAIza[\w-]{30,}/,
  /\bya29\.[\w-]{20,}/,
  /\bGOCSPX-[\w-]{20,}/,
  /\bAccountKey=[\w+/=]{20,}/i,
  /[?&]sig=[\w%+/=-]{20,}/i,
  /\bdo[opr]_v1_[a-f0-9]{32,}/,
  // GitHub, GitLab, npm, PyPI, Docker, Hugging Face, HashiCorp.
  /\bgh[pousr]_\w{20,}/,
  /\bgithub_pat_\w{20,}/,
  /\bgl(?:pat|dt|rt|cbt)-[\w-]{16,}/,
  /\bnpm_[A-Za-z0-9]{30,}/,
  /\bpypi-[\w-]{30,}/,
  /\bdckr_pat_[\w-]{20,}/,
  /\bhf_[A-Za-z0-9]{20,}/,
  /\bhv[sbr]\.[\w-]{20,}/,
  // OpenAI, Anthropic, Stripe, Slack, SendGrid, Twilio, Telegram, Shopify, Linear, Notion.
  /\bsk-[\w-]{16,}/,
  /\b[srp]k_(?:live|test)_\w{10,}/,
  /\bwhsec_\w{16,}/,
  /\bxox[abeoprs]-[\w-]{10,}/,
  /\bhooks\.slack\.com\/services\/\w+\/\w+\/\w+/,
  /\bSG\.[\w-]{16,}\.[\w-]{16,}/,
  /\b(?:SK|AC)[a-f0-9]{32}\b/,
  /\b\d{8,10}:AA[\w-]{30,}/,
  /\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b/,
  /\b(?:lin_api|secret|ntn)_\w{32,}/,
  /\bAGE-SECRET-KEY-1[A-Z0-9]{20,}/,
  // Headers, and addresses with a password in them.
  /\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:bearer|basic|token|digest)\s+[\w.~+/=-]{6,}/i,
  /\bbearer\s+(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,}/i,
  /\b(?:set-)?cookie["']?\s{0,3}:\s{0,3}["']?[\w.-]+=[^\s;]{8,}/i,
  /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:@/]{0,200}:[^\s@/]{1,200}@[^\s]/i,
  /(?:^|\s)(?:-u|--user)\s+\S{1,100}:\S{3,}/,
  // .netrc, .pgpass and the password options of command lines.
  /^\s{0,8}machine\s+\S+\s+login\s+\S+\s+password\s+\S+/im,
  /^[\w.*-]+:\d+:[^:\n]+:[^:\n]+:\S{3,}$/m,
  /(?:^|\s)--?(?:password|passwd|pass|token|secret|api-?key)[ =](?!["']?(?:<|\$|\{|file\b|\/))\S{4,}/im,
];

/** A name of something secret, and what it is set to. */
const assignment =
  /(?<![\p{L}\d])(?:[\w.-]{0,60}?[_.-])??(?:pass(?:word|wd|phrase|wort)?|pwd|kennwort|passwort|contraseña|mot de passe|secrets?|tokens?|credentials?|api[_-]?keys?|auth[_-]?keys?|access[_-]?keys?(?:[_-]id)?|private[_-]?keys?|client[_-]?secrets?|encryption[_-]?keys?|signing[_-]?keys?)["'`\])]{0,2}\s{0,4}(?:=>|:=|=|:)(?!=)\s{0,4}(["'`]?)([^\s"'`,;)}\]]{3,})/giu;
const camelAssignment =
  /\b[a-z]\w{0,40}(?:Password|Passwd|Passphrase|Secret|Token|ApiKey|AccessKey|PrivateKey|Credentials?)["'`]?\s{0,4}(?:=>|:=|=|:)(?!=)\s{0,4}(["'`]?)([^\s"'`,;)}\]]{3,})/g;
/** "the password is hunter2": with a figure, since "the token is expired" is about none. */
const told =
  /\b(?:password|passphrase|passcode|token|api[ -]?key|secret|pin|passwort|kennwort|contraseña|mot de passe)\b["':]?\s+(?:is|ist|lautet|est|es)\s*:?\s+["'`]?(?=[^\s"'`]*\d)[^\s"'`]{4,}/iu;

/** What is written where a secret would stand: the name of a type, a place to read from, or a place holder. */
const placeholder =
  /^(?:string|str|text|varchar\S*|char\S*|number|int\w*|bool\w*|true|false|null|nil|none|undefined|void|unknown|any|never|object|optional\S*|required|missing|invalid|expired|empty|yes|no|self\S*|this\S*|await|async|new|function|function\S*|get\w*\(\S*|read\S*\(\S*|req\S*|request\S*|process\.env\S*|import\.meta\S*|os\.\S*|env\S*|config\S*|settings\.\S*|options\.\S*|props\.\S*|data\.\S*|user\.\S*|z\.\S*|string\S*|Promise<\S*|\.{3}|\*+|x{3,}|<\S*|\$\S+|\{\S*|%\S+%?|your\S*|my\S*|example\S*|changeme|redacted|\[\S*|\(\S*)$/i;

/** An environment file has at least two lines like this. */
const environmentLine = /^(?:export\s+)?[A-Z][A-Z0-9_]{2,}=\S+/gm;
const environmentSecret =
  /^(?:export\s+)?[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASS|PASSWORD|PASSWD|PWD|CREDENTIALS?|DSN|AUTH)[A-Z0-9_]*\s{0,3}=\s{0,3}(["']?)(\S{3,})/gm;

/** Runs of letters and figures without a separator, as keys are. */
const run = /(?<![\w+/=.-])[A-Za-z0-9+_=-]{24,}(?![\w/.])/g;

/** A text above this length is not searched in full: what is so long is not kept anyway. */
const maxSearched = 200_000;

/**
 * Does the text look as if a credential stood in it? In doubt it does: then a prompt is not kept, which costs
 * time only. A text above 200,000 characters always does.
 */
export function holdsSecret(text: string): boolean {
  if (text.length > maxSearched) return true;
  return (
    known.some(pattern => pattern.test(text)) ||
    told.test(text) ||
    isSet(text, assignment) ||
    isSet(text, camelAssignment) ||
    isSet(text, environmentSecret) ||
    (text.match(environmentLine)?.length ?? 0) > 1 ||
    (text.match(run) ?? []).some(isRandom)
  );
}

/** Is something secret set to what is no place holder? A quoted value is a value whatever it says. */
function isSet(text: string, pattern: RegExp): boolean {
  return [...text.matchAll(pattern)].some(
    ([, quote = '', value = '']) => (quote !== '' && value.length > 5) || !placeholder.test(value),
  );
}

/** Bits for each character above which a run of mixed letters and figures is no word. */
const minEntropy = 4;

function isRandom(text: string): boolean {
  const figures = text.replaceAll(/\D/g, '').length;
  // Hashes of commits and files are no secrets; neither are long names.
  if (figures < 3 || /^[a-f0-9-]+$|^[A-F0-9-]+$/.test(text)) return false;
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text)) return false;
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  const shares = [...counts.values()].map(count => count / text.length);
  return -shares.reduce((sum, share) => sum + share * Math.log2(share), 0) >= minEntropy;
}
