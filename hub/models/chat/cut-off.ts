import { ModelFailure } from '../failure.ts';

/** The failure of an answer that its limit of tokens cut off before there was a text or a whole call. */
export const cutOffEarly = (model: string, maxTokens: number | undefined): ModelFailure =>
  new ModelFailure(
    'refused',
    `${model} used up its ${maxTokens === undefined ? '' : `${maxTokens} `}tokens before it said anything whole. Allow more output`,
    { model },
  );
