import {
  assignment,
  basicCredential,
  credential,
  introducedCredentials,
  isPlaceholder,
  isUserAndPassword,
  secretName,
  secretWords,
} from '#core';

/** A JSON member with a secret-sounding name, also where the text is cut off in its value. */
const member = new RegExp(
  String.raw`("${secretName}"\s{0,4}:\s{0,4})(?:"(?:[^"\\]|\\[^])*"?|\d[\d.]*)`,
  'gi',
);
/** The same within a JSON string (escaped quotes). */
const innerMember = new RegExp(
  String.raw`(\\"${secretName}\\"\s{0,4}:\s{0,4}\\")(?:[^"\\]|\\\\\\?[^]|\\[^"\\])+`,
  'gi',
);
/** `name = value` on a line of its own; the value is the rest of the line. */
const line = new RegExp(
  String.raw`^([ \t]{0,16}(?:export[ \t]+)?${secretName}[ \t]{1,4}=[ \t]{1,4})(?!\[redacted\])([^\s"'\x60=>][^\n]{2,})$`,
  'gim',
);
/** A command-line option and its value, such as `--token value`. */
const option = new RegExp(
  String.raw`((?:^|\s)--?[\w-]{0,60}?(?:${secretWords})\s{1,4})(?!-)[^\s"']{4,}`,
  'gi',
);

/** Cheap check: most texts contain no secret-sounding word, so the patterns below are skipped. */
const anyName = new RegExp(secretWords, 'i');

/**
 * Replaces everything that looks like a credential by `instead`. Takes time linear in the length of the text.
 */
export function redactShapes(text: string, instead: string): string {
  let shown = text.replace(credential, instead);
  for (const pattern of introducedCredentials) shown = shown.replace(pattern, `$1${instead}`);
  shown = shown.replace(basicCredential, (all, scheme: string, value: string) =>
    isUserAndPassword(value) ? `${scheme}${instead}` : all,
  );
  if (!anyName.test(shown)) return shown;
  return shown
    .replace(member, `$1"${instead}"`)
    .replace(innerMember, `$1${instead}`)
    .replace(line, (all, name: string, value: string) =>
      isPlaceholder(value.split(/\s/, 1)[0] ?? '') ? all : `${name}${instead}`,
    )
    .replace(
      assignment,
      (
        all: string,
        name: string,
        operator: string,
        quote: string | undefined,
        quoted: string | undefined,
        bare: string | undefined,
      ) =>
        isSecretValue(operator, quoted, bare)
          ? `${name}${quote ?? ''}${instead}${quote !== undefined && all.endsWith(quote) ? quote : ''}`
          : all,
    )
    .replace(option, `$1${instead}`);
}

/**
 * Whether an assigned value is a secret. In `NAME=value` every value is. With spaces around `=` it may be code,
 * and after a colon it may be prose, so an unquoted value there must contain a digit.
 */
function isSecretValue(
  operator: string,
  quoted: string | undefined,
  bare: string | undefined,
): boolean {
  if (quoted !== undefined) return !isPlaceholder(quoted);
  if (bare === undefined) return false;
  if (operator === '=') return true;
  if (operator.includes('=')) return !isPlaceholder(bare);
  return bare.length >= 6 && /\d/.test(bare) && !isPlaceholder(bare);
}
