import { globSync, readFileSync } from 'node:fs';

/** The pages for users whose commands are run. */
export const userPages: readonly string[] = ['README.md', ...globSync('docs/*.md').toSorted()];

const fence = /^ *```(\w+)\n([^]*?)^ *```$/gm;

/** The content of the code blocks of a page in a language. */
export const blocksOf = (page: string, language: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(fence)].flatMap(([, name, text = '']) =>
    name === language ? [text] : [],
  );

/** What starts a command that readers are to type, where it stands in a sentence. */
const typed = /^(?:\w+=\S+ )*(?:npx )?(?:agenthub [a-z]|curl |docker compose |npm )/;

type DocumentedLine = {
  readonly line: string;
  /** Whether it stands in a sentence, which may name a command without what it needs. */
  readonly isInSentence: boolean;
};

/** The command lines of a page, without comments. */
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
