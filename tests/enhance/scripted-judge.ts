import type { Judge, Judgement } from '../../hub/enhance/judge.ts';

/** Judge whose answers a test sets. */
type ScriptedJudge = Judge & {
  /** Pairs of prompts that the judge was asked about, in order. */
  readonly asked: (readonly [a: string, b: string])[];
  /** Answer to the next questions. A promise delays them. */
  answer: Judgement | Promise<Judgement>;
};

export function scriptedJudge(answer: ScriptedJudge['answer'] = 'same'): ScriptedJudge {
  const judge: ScriptedJudge = {
    model: 'scripted',
    asked: [],
    answer,
    async ask(a, b) {
      judge.asked.push([a, b]);
      return await judge.answer;
    },
  };
  return judge;
}
