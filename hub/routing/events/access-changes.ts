import { encodeCall } from '#jsonrpc';
import { type Principal, policyNameOf } from '#policy';
import { type ListKind, type Server, type Servers, listKinds } from '#servers';
import type { Access } from '../access.ts';
import type { AccessRules, AccessSource } from '../access-rules.ts';
import type { Catalog } from '../catalog.ts';
import type { ClientInstances } from '../client-instances.ts';
import type { Endpoint, SessionState } from '../session.ts';
import { type SubscriptionStreams, changeMethodOf } from './subscription-streams.ts';

/** Sends list changed notifications to the clients whose lists change with new access rules. */
export function announceAccessChanges(needs: {
  readonly source: AccessSource;
  readonly access: Pick<Access, 'findOf' | 'isListedUnder'>;
  readonly servers: Pick<Servers, 'all'>;
  readonly clients: Pick<ClientInstances, 'shared'>;
  readonly sessions: () => readonly SessionState[];
  readonly streams: Pick<SubscriptionStreams, 'listChanged'>;
}): void {
  const { source, access, servers, clients, sessions, streams } = needs;

  /** True if a client enters or leaves find mode, or if other tools become pinned for it. */
  function changesFind(principal: Principal, before: AccessRules, catalog: Catalog): boolean {
    const [was, is] = [access.findOf(principal, before), access.findOf(principal)];
    if (!was || !is) return was !== is;
    return catalog
      .list('tool')
      .some(({ publicName }) => was.isPinned(publicName) !== is.isPinned(publicName));
  }

  /** Returns the servers whose list of a kind changes for a client with the new rules. */
  function changedFor(principal: Principal, kind: ListKind, before: AccessRules, catalog: Catalog) {
    const changed = new Set<Server>();
    for (const entry of catalog.list(kind)) {
      if (changed.has(entry.server)) continue;
      const was = access.isListedUnder(before, principal, kind, entry);
      if (was !== access.isListedUnder(source.rules, principal, kind, entry))
        changed.add(entry.server);
    }
    return changed;
  }

  source.changed(({ before, servers: edited }) => {
    /** Servers with changes, by client, profile and kind. Sessions of one client mostly see the same catalog. */
    const known = new Map<string, ReadonlySet<Server>>();
    const changesOf = (principal: Principal, kind: ListKind, catalog: Catalog) => {
      if (catalog !== clients.shared.catalog) return changedFor(principal, kind, before, catalog);
      const key = `${kind} ${policyNameOf(principal)} ${principal.profile ?? ''}`;
      const found = known.get(key) ?? changedFor(principal, kind, before, catalog);
      known.set(key, found);
      return found;
    };
    const isEdited = (endpoint: Endpoint, kind: ListKind) =>
      kind === 'tool' && endpoint !== 'all' && edited.includes(endpoint.config.name);
    const concerns = (
      endpoint: Endpoint,
      principal: Principal,
      kind: ListKind,
      catalog: Catalog,
    ) => {
      const changed = changesOf(principal, kind, catalog);
      if (endpoint === 'all' && kind === 'tool' && changesFind(principal, before, catalog))
        return true;
      return endpoint === 'all'
        ? changed.size > 0
        : isEdited(endpoint, kind) || changed.has(endpoint);
    };
    const { catalog } = clients.shared;
    for (const kind of listKinds) {
      for (const { endpoint, principal, protocolVersion, own, send } of sessions())
        if (protocolVersion !== undefined)
          if (concerns(endpoint, principal, kind, own?.catalog ?? catalog))
            send(encodeCall(undefined, changeMethodOf(kind)));
      for (const endpoint of ['all', ...servers.all] as const)
        streams.listChanged(endpoint, kind, principal =>
          concerns(endpoint, principal, kind, catalog),
        );
    }
  });
}
