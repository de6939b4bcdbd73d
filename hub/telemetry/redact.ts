import {
  assignment,
  basicCredential,
  credential,
  introducedCredentials,
  isExactNumber,
  isObject,
  isPlaceholder,
  isSecretName,
  isUserAndPassword,
  secretName,
  secretWords,
} from '#core';

type RedactText = (text: string) => string;

/** Removes secrets from texts and JSON values for people and logs. Never send the results to a server. */
export type Redaction = {
  /** Redacts text that looks like a credential, and known secret values. */
  readonly text: RedactText;
  /** Redacts every string in a JSON value like `text`, and every value under a secret-sounding key. */
  readonly json: (value: unknown) => unknown;
};

/** Replacement for a secret. */
const redacted = '[redacted]';
const tooDeep = '[too deep]';

/** Minimum length of a known secret that is redacted, in characters. Shorter values would match in ordinary text. */
export const minKnownLength = 8;
/**
 * Maximum length of a secret in the combined pattern, in characters. Longer ones are searched one by one: V8 compiles
 * long patterns slowly, and rejects one of some hundred KB with an error that quotes it.
 */
const maxPatternLength = 1_000;
/** Maximum nesting depth that is redacted. Messages of servers have the same limit. */
const maxDepth = 64;

const redactionBy = (text: RedactText): Redaction => ({
  text,
  json: value => redactValue(value, text, maxDepth),
});

/** Redacts only by shape, if no secret values are known. */
export const shapesOnly = redactionBy(redactText);
export const redactJson = shapesOnly.json;

/**
 * Creates a redaction that also removes known secret values, including one that is truncated at the end of the text.
 * `values` must return the same array until the values change, as the search pattern is cached by the array.
 */
export function createRedaction(values: () => readonly string[]): Redaction {
  let prepared: ReturnType<typeof prepare> | undefined;
  return redactionBy(given => {
    const wanted = values();
    if (prepared?.values !== wanted) prepared = prepare(wanted);
    return redactText(prepared.remove(given));
  });
}

/** Redacts the fields of a log line. Replaces deeply nested values by `[too deep]`. */
export const redactFields = (fields: object, { text }: Redaction): Record<string, unknown> =>
  redactMembers(fields, text, maxLogDepth);

const maxLogDepth = 6;

function prepare(values: readonly string[]) {
  const forms = new Set(values.flatMap(encodingsOf).filter(form => form.length >= minKnownLength));
  // Longest first: of two forms with the same beginning, the longer one must match.
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  if (ordered.length === 0) return { values, remove: (text: string) => text };
  const long = ordered.filter(form => form.length > maxPatternLength).flatMap(withLowerCase);
  const short = ordered.filter(form => form.length <= maxPatternLength);
  const any = short.length > 0 && new RegExp(short.map(escapeForm).join('|'), 'g');
  const remove = (text: string) => {
    const rest = long.reduce((left, form) => left.replaceAll(form, redacted), text);
    return redactCutEnd(any ? rest.replace(any, redacted) : rest, ordered);
  };
  return { values, remove };
}

/** Returns a form, also with its percent-encoded digits in lower case. */
const withLowerCase = (form: string): readonly string[] => [
  ...new Set([form, form.replaceAll(/%[A-F\d]{2}/g, code => code.toLowerCase())]),
];

/** Escapes a form for a regular expression. Percent-encoded digits match in either case. */
const escapeForm = (form: string) =>
  form
    .replaceAll(/[$()*+./?[\\\]^{|}-]/g, '\\$&')
    .replaceAll(/%[A-F\d]{2}/g, code => `(?:${code}|${code.toLowerCase()})`);

/** Redacts the beginning of a known secret at the end of a text that was truncated within the secret. */
function redactCutEnd(text: string, forms: readonly string[]): string {
  for (const form of forms) {
    const beginning = form.slice(0, minKnownLength);
    let at = text.indexOf(beginning, Math.max(0, text.length - form.length + 1));
    // The beginning may also occur elsewhere without the rest, and again inside the secret.
    while (at >= 0 && !form.startsWith(text.slice(at))) at = text.indexOf(beginning, at + 1);
    if (at >= 0) return text.slice(0, at) + redacted;
  }
  return text;
}

function redactValue(value: unknown, text: RedactText, depth: number): unknown {
  if (typeof value === 'string') return text(value);
  if (value instanceof Error) return text(value.stack ?? value.message);
  if (Array.isArray(value)) return depth > 1 ? redactItems(value, text, depth - 1) : tooDeep;
  if (!isObject(value) || value instanceof Date) return value;
  if (isExactNumber(value)) {
    const digits = JSON.stringify(value);
    return text(digits) === digits ? value : redacted;
  }
  return depth > 1 ? redactMembers(value, text, depth - 1) : tooDeep;
}

function redactMembers(members: object, text: RedactText, depth: number): Record<string, unknown> {
  const entries = Object.entries(members);
  // In a `{ name, value }` pair of headers or variables, `name` tells if `value` is secret.
  const named = entries.find(([key]) => key === 'name' || key === 'key')?.[1];
  const isSecretPair = typeof named === 'string' && isSecretName(named);
  return Object.fromEntries(
    entries.map(([key, value]) => [
      key,
      (isSecretName(key) || (isSecretPair && key === 'value')) && value !== null
        ? redacted
        : redactValue(value, text, depth),
    ]),
  );
}

/** Redacts command arguments: a secret follows the option that names it. */
function redactItems(items: readonly unknown[], text: RedactText, depth: number) {
  return items.map((item, index) => {
    const before: unknown = items[index - 1];
    const isOption = typeof before === 'string' && /^--?[\w-]+$/.test(before);
    return isOption && typeof item === 'string' && isSecretName(before)
      ? redacted
      : redactValue(item, text, depth);
  });
}

/** Matches a JSON member with a secret-sounding name, also if the text is truncated within its value. */
const member = new RegExp(
  String.raw`("${secretName}"\s{0,4}:\s{0,4})(?:"(?:[^"\\]|\\[^])*"?|\d[\d.]*)`,
  'gi',
);
/** Matches such a member in JSON that is itself in a JSON string, with escaped quotes. */
const innerMember = new RegExp(
  String.raw`(\\"${secretName}\\"\s{0,4}:\s{0,4}\\")(?:[^"\\]|\\\\\\?[^]|\\[^"\\])+`,
  'gi',
);
/** Matches `name = value` on a line of its own. The value extends to the end of the line. */
const line = new RegExp(
  String.raw`^([ \t]{0,16}(?:export[ \t]+)?${secretName}[ \t]{1,4}=[ \t]{1,4})(?!\[redacted\])([^\s"'\x60=>][^\n]{2,})$`,
  'gim',
);
/** Matches a command-line option and its value, such as `--token value`. */
const option = new RegExp(
  String.raw`((?:^|\s)--?[\w-]{0,60}?(?:${secretWords})\s{1,4})(?!-)[^\s"']{4,}`,
  'gi',
);

/** Matches any secret-sounding word. Most texts have none, so the more expensive patterns are skipped. */
const anyName = new RegExp(secretWords, 'i');

/** Redacts everything that looks like a credential, in time linear in the length of the text. */
export function redactText(text: string): string {
  let shown = text.replace(credential, redacted);
  for (const pattern of introducedCredentials) shown = shown.replace(pattern, `$1${redacted}`);
  shown = shown.replace(basicCredential, (all, scheme: string, value: string) =>
    isUserAndPassword(value) ? `${scheme}${redacted}` : all,
  );
  if (!anyName.test(shown)) return shown;
  return shown
    .replace(member, `$1"${redacted}"`)
    .replace(innerMember, `$1${redacted}`)
    .replace(line, (all, name: string, value: string) =>
      isPlaceholder(value.split(/\s/, 1)[0] ?? '') ? all : `${name}${redacted}`,
    )
    .replace(
      assignment,
      (all: string, name: string, operator: string, quote = '', quoted?: string, bare?: string) =>
        isSecretValue(operator, quoted, bare)
          ? `${name}${quote}${redacted}${all.endsWith(quote) ? quote : ''}`
          : all,
    )
    .replace(option, `$1${redacted}`);
}

/**
 * True if an assigned value is a secret. In `NAME=value`, every value is. With spaces around `=` it may be code, and
 * after a colon prose, so an unquoted value must then contain a digit.
 */
function isSecretValue(operator: string, quoted?: string, bare?: string): boolean {
  if (quoted !== undefined) return !isPlaceholder(quoted);
  if (bare === undefined) return false;
  if (operator === '=') return true;
  if (operator.includes('=')) return !isPlaceholder(bare);
  return bare.length >= 6 && /\d/.test(bare) && !isPlaceholder(bare);
}

/** Returns the forms in which a known secret may appear: plain, by line, JSON-escaped, percent-encoded and base64. */
function encodingsOf(value: string): readonly string[] {
  const lines = value.includes('\n') ? value.split(/\r?\n/).map(line => line.trim()) : [];
  // The credential follows a scheme such as "Bearer" or "Basic".
  const words = /^\S+ \S+$/.test(value) ? value.split(' ') : [];
  const parts = [value, value.trim(), ...words, ...lines].flatMap(form => [
    form,
    JSON.stringify(form).slice(1, -1),
    ...percentEncoded(form),
  ]);
  return [...parts, ...base64Of(value), ...(value === value.trim() ? [] : base64Of(value.trim()))];
}

/** Returns a text percent-encoded by encodeURIComponent, by stricter encoders, and as form data. */
function percentEncoded(text: string): readonly string[] {
  if (!text.isWellFormed()) return [];
  const plain = encodeURIComponent(text);
  const strict = plain.replaceAll(
    /[!'()*~]/g,
    mark => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return [plain, strict, new URLSearchParams({ '': text }).toString().slice(1)];
}

/**
 * Returns the base64 characters that depend on this text alone, for each of its three possible offsets in a group of
 * three bytes, in both alphabets of RFC 4648, and percent-encoded.
 */
function base64Of(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  const fragments = [0, 1, 2].map(before => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64url');
    // The first and last character also contain bits of the surrounding bytes.
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + bytes.length) * 8) / 6);
    return encoded.slice(first, last);
  });
  const whole = bytes.toString('base64');
  return [whole, ...fragments].flatMap(fragment => {
    const standard = fragment.replaceAll('-', '+').replaceAll('_', '/');
    const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_');
    return [standard, urlSafe, encodeURIComponent(standard)];
  });
}
