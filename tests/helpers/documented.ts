import { globSync, readFileSync } from 'node:fs';

/** Pages of the documentation whose commands the tests run. */
export const userPages: readonly string[] = ['README.md', ...globSync('docs/*.md').toSorted()];

const fence = /^ *```(\w+)\n([^]*?)^ *```$/gm;

/** Returns the content of a page's code blocks in one language. */
export const blocksOf = (page: string, language: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(fence)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  );

/** Matches inline code that is a command for readers to type. */
const typed = /^(?:\w+=\S+ )*(?:npx )?(?:agenthub [a-z]|curl |docker compose |npm )/;

type DocumentedLine = {
  readonly line: string;
  /** True if the command is inline code in a sentence, which may leave out arguments that the command needs. */
  readonly isInSentence: boolean;
};

/** Returns the command lines of a page, without shell comments. */
export function commandLinesOf(page: string): readonly DocumentedLine[] {
  const blocks = blocksOf(page, 'sh').flatMap(text => text.replaceAll(/\\\n\s*/g, '').split('\n'));
  const prose = readFileSync(page, 'utf8').replaceAll(/^ *```[^]*?^ *```$/gm, '');
  const inline = [...prose.matchAll(/`([^`]+)`/g)]
    .map(([, text = '']) => text.replaceAll(/\s*\n\s*/g, ' '))
    .filter(text => typed.test(text));
  return [
    ...blocks.map(text => ({ line: withoutComment(text), isInSentence: false })),
    ...inline.map(text => ({ line: withoutComment(text), isInSentence: true })),
  ].filter(({ line }) => line !== '');
}

const withoutComment = (text: string) =>
  text
    .replace(/(?:^|\s)#\s.*$/, '')
    .trim()
    .replace(/^\$ /, '');
