import { type Lexeme, articles, definite, wordLexeme } from './lexemes.ts';
import { vocabulary } from './phrases.ts';
import { rowsOf } from './words.ts';

/** Verbs by the nouns of their actions. Nouns that mostly mean a thing ("creation", "documentation") are left out. */
const verbs: ReadonlyMap<string, string> = new Map(
  rowsOf(
    `delete deletion | remove removal | install installation | validate validation | migrate migration |
    translate translation | calculate calculation | verify verification | generate generation |
    register registration | rotate rotation | compress compression | encrypt encryption | decrypt decryption |
    extract extraction | convert conversion | integrate integration | optimize optimization |
    synchronize synchronization | initialize initialization | normalize normalization | serialize serialization |
    implement implementation | deploy deployment | replace replacement | manage management | measure measurement |
    renew renewal | cancel cancellation | approve approval | introduce introduction | reduce reduction |
    prevent prevention | detect detection | prepare preparation | organize organization | coordinate coordination |
    evaluate evaluation | modernize modernization | renovate renovation | restore restoration | store storage |
    handle handling | process processing`,
  ).map(([verb = '', noun = '']) => [noun, verb] as const),
);

/** Rewrites "for the deletion of logs" as "to delete logs", and "the deletion of logs" as "deleting logs". */
export function withVerbsForNouns(lexemes: readonly Lexeme[]): readonly Lexeme[] {
  const done: Lexeme[] = [];
  for (const [at, lexeme] of lexemes.entries()) {
    const verb = lexeme.kind === 'word' ? verbs.get(lexeme.text) : undefined;
    const isPhrase = lexemes[at + 1]?.text === 'of' && isArticle(lexemes[at - 1]);
    if (
      lexeme.text === 'of' &&
      verbs.has(lexemes[at - 1]?.text ?? '') &&
      done.at(-1)?.form === 'ing'
    )
      continue;
    if (verb === undefined || !isPhrase) {
      done.push(lexeme);
      continue;
    }
    done.pop();
    const isPurpose = done.at(-1)?.text === 'for';
    if (isPurpose) done.splice(-1, 1, wordLexeme('to'));
    const { stem } = vocabulary().stem(verb);
    done.push({ ...lexeme, text: verb, stem, form: 'ing' });
  }
  return done;
}

const isArticle = (lexeme: Lexeme | undefined): boolean =>
  lexeme !== undefined && (articles.has(lexeme.text) || definite.has(lexeme.text));
