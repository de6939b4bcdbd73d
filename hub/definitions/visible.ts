/**
 * Characters that are not seen, or that change the order of what is seen: controls, format characters, fillers,
 * variation selectors, lone surrogates, private use.
 */
const unseen =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]|\u034f|\u17b4|\u17b5|\p{Variation_Selector}/gu;

/** Emoji use these two: a joiner between two pictures, and the selector of their colour form. */
const ofEmoji =
  /(?<=[\p{Extended_Pictographic}\ufe0f\p{Emoji_Modifier}])\u200d(?=\p{Extended_Pictographic})|(?<=\p{Emoji})\ufe0f/gu;

const isLayout = (character: string) => character === '\n' || character === '\t';

const codeOf = (character: string) =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** The text with each unseen character as its code, such as `<U+200B>`. Line breaks and tabs too, unless they are kept. */
export function visible(text: string, keepsLines = false): string {
  const emoji = new Set([...text.matchAll(ofEmoji)].map(({ index }) => index));
  return text.replaceAll(unseen, (character, index: number) =>
    emoji.has(index) || (keepsLines && isLayout(character)) ? character : `<${codeOf(character)}>`,
  );
}

/** The codes of the unseen characters in a text, each once. Line breaks and tabs do not count. */
export function unseenIn(text: string): readonly string[] {
  const plain = text.replaceAll(ofEmoji, '').replaceAll('\r\n', '\n');
  const found = [...plain.matchAll(unseen)].map(([character]) => character);
  return [...new Set(found.filter(one => !isLayout(one)).map(codeOf))];
}
