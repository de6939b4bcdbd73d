/** Which streams give up their events first: the first of these that keeps any. */
const ranks = ['ended', 'detached', 'attached'] as const;

export type Rank = (typeof ranks)[number];

/** What one stream keeps. Only the budget writes to it. */
export type Share = {
  readonly giveUpOldest: () => void;
  rank: Rank;
  bytes: number;
};

/**
 * Bounds what the event streams of all sessions keep for clients that lost their connection: a bound
 * for each stream alone would allow as many times that as there are sessions.
 */
export interface ReplayBudget {
  /** What all streams keep, in bytes. */
  readonly keptBytes: number;
  /**
   * The stream keeps so many bytes more, or fewer. Where that is too much, the stream that ended first
   * gives up its oldest events, then the one without connection that has kept any for longest, and only
   * then one with a connection, which needs them least.
   */
  resize(share: Share, byBytes: number): void;
  /** The stream ended, or got or lost its connection. */
  rank(share: Share, rank: Rank): void;
}

/** A budget of that many bytes. Each of its steps costs the same, however many streams there are. */
export function createReplayBudget(maxBytes: number): ReplayBudget {
  /** The streams that keep anything, in the order in which they give it up. */
  const lines: Readonly<Record<Rank, Set<Share>>> = {
    ended: new Set(),
    detached: new Set(),
    attached: new Set(),
  };
  let keptBytes = 0;

  function first(): Share | undefined {
    for (const rank of ranks) for (const share of lines[rank]) return share;
    return undefined;
  }

  return {
    get keptBytes() {
      return keptBytes;
    },
    resize(share, byBytes) {
      keptBytes += byBytes;
      share.bytes += byBytes;
      if (share.bytes > 0) lines[share.rank].add(share);
      else lines[share.rank].delete(share);
      while (byBytes > 0 && keptBytes > maxBytes) first()?.giveUpOldest();
    },
    rank(share, rank) {
      if (share.rank === rank) return;
      lines[share.rank].delete(share);
      share.rank = rank;
      if (share.bytes > 0) lines[rank].add(share);
    },
  };
}
