/**
 * Matches characters that are invisible or change the text direction: control and format characters, fillers, variation
 * selectors, lone surrogates, private use.
 */
const unseen =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5|\p{Variation_Selector}/gu;

/** Matches two invisible characters in emoji: the joiner of two pictures, and the selector of their color form. */
const ofEmoji =
  /(?<=[\p{Extended_Pictographic}\ufe0f\p{Emoji_Modifier}])\u200d(?=\p{Extended_Pictographic})|(?<=\p{Emoji})\ufe0f/gu;

const isLayout = (character: string) => character === '\n' || character === '\t';

const codeOf = (character: string) =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Replaces invisible characters by codes such as `<U+200B>`. `keepsLines`: line breaks and tabs stay. */
export function visible(text: string, keepsLines = false): string {
  const emoji = new Set([...text.matchAll(ofEmoji)].map(({ index }) => index));
  return text.replaceAll(unseen, (character, index: number) =>
    emoji.has(index) || (keepsLines && isLayout(character)) ? character : `<${codeOf(character)}>`,
  );
}

/** Returns the codes of the invisible characters in a text, each once. Ignores line breaks and tabs. */
export function unseenIn(text: string): readonly string[] {
  const plain = text.replaceAll(ofEmoji, '').replaceAll('\r\n', '\n');
  const found = [...new Set(plain.match(unseen))];
  return found.filter(one => !isLayout(one)).map(codeOf);
}
