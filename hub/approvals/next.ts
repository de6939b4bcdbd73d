/** State of an approval. Times are in milliseconds since the epoch. `by`: policy name of the principal who decided. */
export type ApprovalState =
  | { readonly kind: 'pending'; readonly expiresAt: number }
  | { readonly kind: 'approved' | 'denied'; readonly expiresAt: number; readonly by: string }
  | { readonly kind: 'used' | 'expired' | 'withdrawn' };

export type ApprovalEvent = {
  readonly at: number;
} & (
  | {
      readonly type: 'approve' | 'deny';
      readonly by: string;
      /** When an unused approval or a denial expires, in milliseconds since the epoch. */
      readonly expiresAt: number;
    }
  /** `use`: the call is sent to its server. `withdraw`: it ended without a decision. `look`: only time has passed. */
  | { readonly type: 'use' | 'withdraw' | 'look' }
);

/** True if a state is final. */
export const isOver = ({ kind }: ApprovalState): boolean =>
  kind === 'used' || kind === 'expired' || kind === 'withdrawn';

/**
 * Returns the state after an event; the same object if the event does not apply, such as a second use. An approval
 * whose time is over expires, whatever the event. An unused approval can still be denied.
 */
export function next(state: ApprovalState, event: ApprovalEvent): ApprovalState {
  if (!('expiresAt' in state)) return state;
  if (event.at >= state.expiresAt) return { kind: 'expired' };
  switch (event.type) {
    case 'approve':
      return state.kind === 'pending' ? decided('approved', event) : state;
    case 'deny':
      return state.kind === 'denied' ? state : decided('denied', event);
    case 'use':
      return state.kind === 'approved' ? { kind: 'used' } : state;
    case 'withdraw':
      return state.kind === 'pending' ? { kind: 'withdrawn' } : state;
    case 'look':
      return state;
  }
}

const decided = (
  kind: 'approved' | 'denied',
  { by, expiresAt }: { readonly by: string; readonly expiresAt: number },
): ApprovalState => ({ kind, by, expiresAt });
