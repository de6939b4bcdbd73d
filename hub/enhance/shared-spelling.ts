import { commands, pattern } from './technical-names.ts';

/** Pattern for words that announce a quotation, with or without quotation marks. */
const named =
  '(?:words?|phrase|term|expression|saying|idiom|proverb|motto|error|error message|message|warning)';
const phraseIn = /(["'])(\p{L}[\p{L}\p{N}' -]{0,80})\1(?![\p{L}\p{N}])/gu;
/** Matches prompts about searches, in which quotation marks group words. */
const aboutSearch = /\b(?:search\w*|grep|find\w*|quer(?:y|ies)|quot\w*)\b/i;
/** Matches a command with arguments in a sentence: "What does `git stash pop` do?" */
const commandIn = pattern.gi`(?<=\b(?:run|running|use|using|does|do|of|with|execute|command|after|before|when) )\`(${commands} [^\`\n]{1,80})\`(?=$|[\s?!.,])`;

/** Matches prompts about function references: "pass save to onClick" is not "pass save() to onClick". */
const aboutReferences =
  /\b(?:pass\w*|bind\w*|callbacks?|assign\w*|on[A-Z]\w*|handlers?|references?|await|yield|decorat\w*|parenthes\w+|brackets|call(?:ing|ed|s)?|invok\w*|typeof|instanceof|new|constructors?)\b/;
const calls = /(?<=^|\s)`?([A-Za-z_$][\w$.]*)\(\)`?(?=$|[\s.?!,])/g;

/** True if a text has a word or phrase without quotes around it. */
export function isBareIn(text: string, word: string): boolean {
  const at = text.indexOf(word);
  const [before, after] = [text[at - 1] ?? ' ', text[at + word.length] ?? ' '];
  return at >= 0 && /[\s(,]/.test(before) && /[\s),.?!;:]/.test(after);
}

/**
 * Returns a prompt with the spelling of the other prompt, if both spellings mean the same: "the phrase break a leg"
 * with quotation marks, `git stash pop` without backticks, "the function print" as "print()".
 */
export const withSpellingOf = (text: string, other: string): string =>
  withCallsOf(withoutBackticks(withMarksOf(text, other), other), other);

function withMarksOf(text: string, other: string): string {
  if (aboutSearch.test(text)) return text;
  let rest = text;
  for (const [quotation = '', , phrase = ''] of other.matchAll(phraseIn)) {
    if (rest.includes(quotation)) continue;
    const escaped = phrase.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    const bare = new RegExp(String.raw`(?<=\b${named} )${escaped}(?=$|[\s?!,]|\.(?:\s|$))`);
    rest = rest.replace(bare, () => quotation);
  }
  return rest;
}

const withoutBackticks = (text: string, other: string): string =>
  text.replaceAll(commandIn, (all, command: string) => (isBareIn(other, command) ? command : all));

function withCallsOf(text: string, other: string): string {
  if (aboutReferences.test(text) || aboutReferences.test(other)) return text;
  let rest = text;
  for (const [, name = ''] of other.matchAll(calls)) {
    if (rest.includes(`${name}()`)) continue;
    const escaped = name.replaceAll(/[$.]/g, String.raw`\$&`);
    const mention = new RegExp(
      String.raw`(?<=\b(?:function|method) )${escaped}(?=$|[\s?!,]|\.(?:\s|$))|(?<=^|\s)${escaped}(?= (?:function|method)\b(?!'))`,
    );
    rest = rest.replace(mention, () => `${name}()`);
  }
  return rest;
}
