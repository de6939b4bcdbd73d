import type { Principal } from '#policy';

/** Principal of the caller in tests without a guard. */
export const caller: Principal = { kind: 'local', name: 'test', grants: { administer: false } };
