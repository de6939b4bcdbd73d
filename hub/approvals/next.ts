/** State of an approval. Times are in milliseconds since the epoch. `by`: policy name of who decided. */
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
      /** End of the decision: of an approval that is not used, and of a denial. */
      readonly expiresAt: number;
    }
  /** `use`: a call goes to its server. `withdraw`: the call that asked is over. `look`: only time has passed. */
  | { readonly type: 'use' | 'withdraw' | 'look' }
);

/** True if a state ends an approval: no event changes it. */
export const isOver = ({ kind }: ApprovalState): boolean =>
  kind === 'used' || kind === 'expired' || kind === 'withdrawn';

/**
 * The state after an event. The same object if the event does not apply, such as the second use. Before any other event,
 * an approval whose time is over expires. An approval that was not used can still be denied.
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
