import { type Lexeme, articles, definite, wordLexeme } from './lexemes.ts';
import { vocabulary } from './phrases.ts';
import { tableOf } from './words.ts';

/** Verbs by the nouns of their actions. Nouns that mostly mean a thing ("creation", "documentation") are left out. */
const verbs = tableOf(
  `deletion delete | removal remove | installation install | validation validate | migration migrate |
  translation translate | calculation calculate | verification verify | generation generate | registration register |
  rotation rotate | compression compress | encryption encrypt | decryption decrypt | extraction extract |
  conversion convert | integration integrate | optimization optimize | synchronization synchronize |
  initialization initialize | normalization normalize | serialization serialize | implementation implement |
  deployment deploy | replacement replace | management manage | measurement measure | renewal renew |
  cancellation cancel | approval approve | introduction introduce | reduction reduce | prevention prevent |
  detection detect | preparation prepare | organization organize | coordination coordinate | evaluation evaluate |
  modernization modernize | renovation renovate | restoration restore | storage store | handling handle |
  processing process`,
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
