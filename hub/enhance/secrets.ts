import {
  assignment,
  basicCredential,
  credential,
  introducedCredentials,
  isPlaceholder,
  isUserAndPassword,
  mentionsSecret,
  secretWords,
} from '#core';

/** Matches "the password is hunter2". The value must have a digit: "the token is expired" contains no secret. */
const stated =
  /\b(?:password|passphrase|passcode|token|api[ -]?key|secret|pin|passwort|kennwort|contraseña|mot de passe)\b["':]?\s+(?:is|ist|lautet|est|es)(?:\s*:)?\s+["'`]?(?=[^\s"'`]*\d)[^\s"'`]{4,}/iu;

/** Matches a line of an environment file, such as `NAME=value`. Two such lines count as a secret. */
const environmentLine = /^(?:export\s+)?[A-Z][A-Z0-9_]{2,}=\S+/gm;
const environmentValue =
  /^(?:export\s+)?([A-Z0-9_]{1,100})\s{0,3}=\s{0,3}(?:["']([^"'\n]{3,})|(\S{3,}))/gm;

/** Matches `--token value`, unless the value is a file or a placeholder. */
const option = new RegExp(
  String.raw`(?:^|\s)--?[\w-]{0,60}?(?:${secretWords})[ =](?!["']?(?:<|\$|\{|file\b|\/))\S{4,}`,
  'im',
);

/** Matches a long run of letters and digits without separators, as in keys. */
const run = /(?<![\w+/=.-])[A-Za-z0-9+_=-]{24,}(?![\w/.])/g;

/** Maximum length in characters of texts that are searched. Longer prompts are not cached anyway. */
const maxSearched = 200_000;

/**
 * True if a text seems to contain a credential, also in doubt: a prompt that is not cached only costs time. True for
 * texts above 200,000 characters.
 */
export function holdsSecret(text: string): boolean {
  if (text.length > maxSearched) return true;
  return (
    text.search(credential) >= 0 ||
    introducedCredentials.some(pattern => text.search(pattern) >= 0) ||
    [...text.matchAll(basicCredential)].some(([, , value = '']) => isUserAndPassword(value)) ||
    stated.test(text) ||
    [...text.matchAll(assignment)].some(([, , , , quoted, bare]) => isSet(quoted, bare)) ||
    [...text.matchAll(environmentValue)].some(
      ([, name = '', quoted, bare]) => mentionsSecret(name) && isSet(quoted, bare),
    ) ||
    text.search(option) >= 0 ||
    (text.match(environmentLine)?.length ?? 0) > 1 ||
    (text.match(run) ?? []).some(isRandom)
  );
}

/** True if a value is not a placeholder. A long quoted value is never one. */
const isSet = (quoted: string | undefined, bare: string | undefined) =>
  quoted !== undefined ? quoted.length > 5 || !isPlaceholder(quoted) : !isPlaceholder(bare ?? '');

/** Minimum entropy in bits per character for mixed letters and digits to count as random. */
const minEntropy = 4;

function isRandom(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '').length;
  // Hashes of commits and files are no secrets, and long names are none either.
  if (digits < 3 || /^[a-f0-9-]+$|^[A-F0-9-]+$/.test(text)) return false;
  if (!/[a-z]/.test(text) || !/[A-Z]/.test(text)) return false;
  const counts = Map.groupBy(text, character => character).values();
  const shares = Array.from(counts, ({ length }) => length / text.length);
  return -shares.reduce((sum, share) => sum + share * Math.log2(share), 0) >= minEntropy;
}
