import type { ByteBudget } from '#transports';

/** A byte budget that counts nothing and never refuses. */
export const noBudget: ByteBudget = {
  hold: () => ({ [Symbol.dispose]() {} }),
  added() {},
};
