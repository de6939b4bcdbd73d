import { ModelFailure } from '../failure.ts';

/** Returns the failure of an answer that reached its token limit before it had a text or a complete call. */
export const cutOffEarly = (model: string, maxTokens: number | undefined): ModelFailure =>
  new ModelFailure(
    'refused',
    `${model} used up its ${maxTokens === undefined ? '' : `${maxTokens} `}tokens before it said anything whole. Allow more output`,
    { model },
  );
