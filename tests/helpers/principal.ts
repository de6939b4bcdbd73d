import type { Principal } from '#policy';

/** Who calls in tests that have no guard. */
export const caller: Principal = { kind: 'local', name: 'test', grants: { administer: false } };
