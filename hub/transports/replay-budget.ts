/** The order in which streams give up their events. */
const ranks = ['ended', 'detached', 'attached'] as const;

export type Rank = (typeof ranks)[number];

/** What one stream keeps. Only the budget changes it. */
export type Share = {
  readonly giveUpOldest: () => void;
  rank: Rank;
  bytes: number;
};

/** Bounds the events that the streams of all sessions together keep for clients that reconnect. */
export interface ReplayBudget {
  /** Sum over all streams, in bytes. */
  readonly keptBytes: number;
  /**
   * The stream keeps this many bytes more, or fewer. Above the bound, streams give up their oldest events: those that
   * ended first, then those without a connection, then those with one, which need them least.
   */
  resize(share: Share, byBytes: number): void;
  /** The stream ended, or its connection was opened or lost. */
  rank(share: Share, rank: Rank): void;
}

/** All operations take constant time, however many streams there are. */
export function createReplayBudget(maxBytes: number): ReplayBudget {
  /** The streams with kept events, in the order in which they give them up. */
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
