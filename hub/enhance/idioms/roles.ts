import type { Notation } from '../technical-names.ts';
import { requests, wordSet } from '../words.ts';

/** Matches endings of nouns for professions: "accountant", "tutor", "nutritionist", "editor". */
const actor = /(?:er|or|ist|ian|ant|ent|eer|yst|expert|coach|nurse|chef|guide|critic|judge)$/i;
/** Nouns with such an ending that are praise or blame, and not professions. */
const remarks = wordSet(
  'winner loser killer lifesaver monster disaster wonder cheater liar stranger saint giant bother matter never ever',
);
/** Matches details after a profession: "with ten years of experience", "in tax law". */
const details = / (?:with|in|at|for|of|from|on|specializ\w+|specialis\w+|working)\b.*$/i;

const isRole = (noun: string): boolean => {
  const head = noun.replace(details, '').split(' ').at(-1) ?? '';
  return actor.test(head) && !remarks.has(head.toLowerCase());
};

/** Rewrites "Act as a tutor and explain" and "Pretend to be a tutor. Explain" as "You are a tutor. Explain". */
export const roles: readonly Notation[] = [
  [
    /^(you(?: are|'re)|act as|pretend to be|pretend (?:that )?you(?: are|'re)|(?:take|assume|play)(?: on)? the role of) (an? [^,.;:!?\ue000]{3,80}?)(\.|;|,? and|,) (\p{L}+)(?= )/iu,
    (all, opening = '', noun = '', joint = '', next = '') => {
      const isStatement = opening.toLowerCase().startsWith('you') && joint.endsWith('and');
      const isEnd = joint === '.' || joint === ';';
      const isRequest = isEnd || (!isStatement && requests.has(next.toLowerCase()));
      return isRequest && isRole(noun) ? `you are ${noun}. ${next}` : all;
    },
  ],
];
