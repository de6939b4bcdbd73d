import type { Notation } from '../technical-names.ts';
import { requests, wordSet } from '../words.ts';

/** Endings of those who do something: "accountant", "tutor", "nutritionist", "editor". */
const actor = /(?:er|or|ist|ian|ant|ent|eer|yst|expert|coach|nurse|chef|guide|critic|judge)$/i;
/** Words with such an ending that praise or blame. */
const remarks = wordSet(
  'winner loser killer lifesaver monster disaster wonder cheater liar stranger saint giant bother matter never ever',
);
/** Behind one of these it is said what somebody does, and where. */
const details = / (?:with|in|at|for|of|from|on|specializ\w+|specialis\w+|working)\b.*$/i;

const isRole = (noun: string): boolean => {
  const head = noun.replace(details, '').split(' ').at(-1) ?? '';
  return actor.test(head) && !remarks.has(head.toLowerCase());
};

/** Who is to answer: "Act as a tutor and", "Pretend to be a tutor." and "You are a tutor." */
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
