import { type Clock, type Log, messageOf } from '#core';
import type { Notification } from '#rpc';
import { type Item, type ListKind, readList } from './listing.ts';
import type { Upstream } from './upstream.ts';

/** Reads lists again of which a server says that they changed. */
export type Rereads = {
  /** True where the notification was that a list changed. */
  hear(notification: Notification): boolean;
  /** The first lists have been read: those that changed meanwhile are read again. */
  begin(): void;
};

const kindsOf: ReadonlyMap<string, readonly ListKind[]> = new Map([
  ['notifications/tools/list_changed', ['tool']],
  ['notifications/prompts/list_changed', ['prompt']],
  ['notifications/resources/list_changed', ['resource', 'template']],
]);

export type RereadsNeeds = {
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** False once the server is gone: nothing is read then, and nothing replaced. */
  readonly isCurrent: () => boolean;
  readonly replace: (kind: ListKind, items: readonly Item[]) => void;
};

/**
 * From the start of one reading of a list to that of the next. Some servers announce a change whenever
 * their list is read, and would otherwise be read without end.
 */
const spacingMs = 1_000;

/** The rereads of one session with a server: at once for a first change, once for all that follow. */
export function createRereads(
  options: { readonly server: string; readonly timeoutMs: number },
  upstream: Pick<Upstream, 'request'>,
  needs: RereadsNeeds,
): Rereads {
  const { log } = needs;
  /** Changes before the lists were read: which of the lists are older cannot be told. */
  let early: Set<ListKind> | undefined = new Set();
  const under = new Map<ListKind, 'read' | 'changed again'>();

  async function reread(kind: ListKind): Promise<void> {
    do {
      under.set(kind, 'read');
      const spaced = Promise.withResolvers<void>();
      needs.clock.after(spacingMs, spaced.resolve);
      try {
        const items = await readList(options.server, upstream, kind, options.timeoutMs, { log });
        if (needs.isCurrent()) needs.replace(kind, items);
      } catch (error) {
        log.warn({ list: kind, error: messageOf(error) }, 'a changed list could not be read');
      }
      await spaced.promise;
    } while (under.get(kind) === 'changed again' && needs.isCurrent());
    under.delete(kind);
  }

  function changed(kind: ListKind): void {
    if (early) early.add(kind);
    else if (under.has(kind)) under.set(kind, 'changed again');
    else if (needs.isCurrent()) void reread(kind);
  }

  return {
    hear({ method }) {
      const kinds = kindsOf.get(method);
      kinds?.forEach(changed);
      return kinds !== undefined;
    },
    begin() {
      const kinds = early ?? [];
      early = undefined;
      for (const kind of kinds) changed(kind);
    },
  };
}
