import { type Lexeme, articles, definite, prepositions } from './lexemes.ts';
import { closed } from './phrases.ts';
import { wordSet } from './words.ts';

const languages = wordSet(
  `javascript typescript python java kotlin scala ruby rust golang php perl haskell erlang elixir clojure bash
  c++ c# lua julia matlab powershell sql zsh`,
);

/** Separates the programming language from a sentence that only names it as the language to use. */
export function withoutContext(lexemes: readonly Lexeme[]): {
  readonly lexemes: readonly Lexeme[];
  readonly context: readonly string[];
} {
  const isLanguage = ({ kind, text, raw }: Lexeme) =>
    kind === 'name' ? languages.has(text) : /^(?:Go|C|R|Swift)$/.test(raw);
  const [at = -1, ...others] = lexemes.flatMap((lexeme, index) =>
    isLanguage(lexeme) ? [index] : [],
  );
  const language = lexemes[at];
  const [before, next] = [lexemes[at - 1], lexemes[at + 1]];
  const isObject = lexemes.some(({ stem }) => convertingStems.has(stem));
  if (!language || others.length > 0 || isObject) return { lexemes, context: [] };
  const context = [language.raw.toLowerCase().replace(/'s$/, '')];
  const isLast = !next || next.kind === 'stop' || closed.has(next.text);
  const hasClauses = at > 2 && lexemes.some(({ text }) => text === 'and' || text === 'but');
  if (/^(?:in|with|using)$/.test(before?.text ?? '') && isLast && !hasClauses)
    return { lexemes: lexemes.toSpliced(at - 1, 2), context };
  // An introduction may precede: "Using the standard library, write a Python script".
  const comma = lexemes.findLastIndex(({ kind }, index) => index < at && kind === 'stop');
  const begin = prepositions.has(lexemes[0]?.text ?? '') ? comma + 1 : 0;
  const isFirst = lexemes
    .slice(begin, at)
    .every(({ text }) => articles.has(text) || definite.has(text));
  const isOf = lexemes.slice(at + 1, at + 3).some(({ text }) => toolsOf.has(text));
  if (isFirst && next?.kind === 'word' && !isLast && !isOf)
    return { lexemes: lexemes.toSpliced(at, 1), context };
  return { lexemes, context: [] };
}

/** Tools for a language, which may be written in another language: "a Java compiler" is not "a compiler in Java". */
const toolsOf = wordSet(
  `parser compiler interpreter linter highlighter formatter minifier transpiler tokenizer lexer debugger grammar
  runtime keyboard dictionary`,
);

/** Verbs of conversion, after which a language is the result. */
const convertingStems = wordSet(
  'translate~ translat~ =convert =translate =rewrite =change changeinto port~ =migrate replaceby',
);
