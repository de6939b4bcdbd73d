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

/** "the password is hunter2": with a figure, since "the token is expired" is about none. */
const told =
  /\b(?:password|passphrase|passcode|token|api[ -]?key|secret|pin|passwort|kennwort|contraseña|mot de passe)\b["':]?\s+(?:is|ist|lautet|est|es)\s*:?\s+["'`]?(?=[^\s"'`]*\d)[^\s"'`]{4,}/iu;

/** An environment file has at least two lines like this. */
const environmentLine = /^(?:export\s+)?[A-Z][A-Z0-9_]{2,}=\S+/gm;
const environmentValue =
  /^(?:export\s+)?([A-Z0-9_]{1,100})\s{0,3}=\s{0,3}(?:["']([^"'\n]{3,})|(\S{3,}))/gm;

/** `--token value`, and not the file that holds it. */
const option = new RegExp(
  String.raw`(?:^|\s)--?[\w-]{0,60}?(?:${secretWords})[ =](?!["']?(?:<|\$|\{|file\b|\/))\S{4,}`,
  'im',
);

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
    text.search(credential) >= 0 ||
    introducedCredentials.some(pattern => text.search(pattern) >= 0) ||
    [...text.matchAll(basicCredential)].some(([, , value = '']) => isUserAndPassword(value)) ||
    told.test(text) ||
    [...text.matchAll(assignment)].some(([, , , , quoted, bare]) => isSet(quoted, bare)) ||
    [...text.matchAll(environmentValue)].some(
      ([, name = '', quoted, bare]) => mentionsSecret(name) && isSet(quoted, bare),
    ) ||
    text.search(option) >= 0 ||
    (text.match(environmentLine)?.length ?? 0) > 1 ||
    (text.match(run) ?? []).some(isRandom)
  );
}

/** Is something secret set to what is no place holder? A quoted value is a value whatever it says. */
const isSet = (quoted: string | undefined, bare: string | undefined) =>
  quoted !== undefined ? quoted.length > 5 || !isPlaceholder(quoted) : !isPlaceholder(bare ?? '');

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
