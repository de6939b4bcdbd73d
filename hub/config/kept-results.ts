import type { EntryDraft } from './sandbox.ts';
import { bytesOf } from './size.ts';

/** Which results of a server's tools are cached, and for whom. */
type KeptResultsConfig = {
  readonly tools: readonly string[];
  readonly ttlMs: number;
  readonly per: 'client' | 'all';
  /** Annotations that a tool must declare for its results to be cached. */
  readonly hints: 'both' | 'read_only';
  readonly maxBytes: number;
};

/** Converts the key `cache` of a server's entry. */
export function keptResultsOf({ entry, report }: EntryDraft): KeptResultsConfig | undefined {
  if (!entry.cache) return undefined;
  const { tools, ttl, per, hints, max_size: maxSize } = entry.cache;
  if (entry.instance === 'session')
    report(
      ['cache'],
      'cannot be combined with "instance": "session": each session has its own results. Remove one of them',
    );
  return { tools, ttlMs: ttl * 1000, per, hints, maxBytes: bytesOf(maxSize) };
}
