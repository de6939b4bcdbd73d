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

/** A member of JSON, also in a text that was cut. */
const member = new RegExp(
  String.raw`("${secretName}"\s{0,4}:\s{0,4})(?:"(?:[^"\\]|\\[^])*"?|\d[\d.]*)`,
  'gi',
);
/** The same in JSON that stands in a string of other JSON. */
const innerMember = new RegExp(
  String.raw`(\\"${secretName}\\"\s{0,4}:\s{0,4}\\")(?:[^"\\]|\\\\\\?[^]|\\[^"\\])+`,
  'gi',
);
/** `name = value` as a line of its own: the value is the rest of the line. */
const line = new RegExp(
  String.raw`^([ \t]{0,16}(?:export[ \t]+)?${secretName}[ \t]{1,4}=[ \t]{1,4})(?!\[redacted\])([^\s"'\x60=>][^\n]{2,})$`,
  'gim',
);
/** `--token value`. */
const option = new RegExp(
  String.raw`((?:^|\s)--?[\w-]{0,60}?(?:${secretWords})\s{1,4})(?!-)[^\s"']{4,}`,
  'gi',
);

/** Most texts name nothing of the kind, and are not searched for what would follow it. */
const anyName = new RegExp(secretWords, 'i');

/** The text with `instead` in place of whatever looks like a credential. Takes time linear in its length. */
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
 * `NAME=value` is a setting whatever it says. With spaces around the operator it may be code, and after a colon a
 * sentence, whose words have no figure in them.
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
