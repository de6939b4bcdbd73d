import type { ByteBudget } from '#transports';

/** Counts nothing. */
export const noBudget: ByteBudget = {
  hold: () => ({ [Symbol.dispose]() {} }),
  added() {},
};
