import { type Principal, hintsOf } from '#policy';
import type { Server, Servers } from '#servers';
import type { Access } from './access.ts';
import type { AccessSource } from './access-source.ts';
import type { Catalog } from './catalog.ts';
import { describeOwnTool } from './find/own-tools.ts';
import type { Endpoint } from './session.ts';

/** A tool of a server, as the endpoint of all servers shows it to clients that may use everything. */
export type ShownTool = {
  /** The server's own name. */
  readonly name: string;
  readonly publicName: string;
  /** The item of the list, as JSON. */
  readonly bytes: Buffer;
  /** Its definition is not the accepted one: no list contains it. */
  readonly isHeld: boolean;
};

/** How the tools of the catalog are shown to clients. */
export function createShownTools(
  catalog: Pick<Catalog, 'changed' | 'find' | 'findAt' | 'list'>,
  source: Pick<AccessSource, 'toolsOf'>,
  access: Pick<Access, 'mayFind' | 'viewOf'>,
  servers: Pick<Servers, 'all'>,
) {
  function toolAt(server: Server, shown: string): Buffer | undefined {
    const own = source.toolsOf(server.config.name)?.rename
      ? catalog.findAt(server, 'tool', shown)?.name
      : shown;
    return server.listing.tool.find(({ key }) => key === own)?.bytes;
  }

  return {
    /**
     * The description of a tool, as a client of the endpoint sees it; undefined if the endpoint does not list it, or if the
     * policy hides it from `viewer`.
     */
    describeTool(endpoint: Endpoint, publicName: string, viewer?: Principal): Buffer | undefined {
      const entry =
        endpoint === 'all'
          ? catalog.find('tool', publicName)
          : catalog.findAt(endpoint, 'tool', publicName);
      if (viewer && entry && !access.mayFind(viewer, entry)) return undefined;
      return endpoint === 'all'
        ? (entry?.bytes ?? describeOwnTool(publicName))
        : toolAt(endpoint, publicName);
    },
    /**
     * False if the policy hides a tool from a principal. If no server lists the tool, its name decides: it counts as a tool of
     * each server whose name it begins with.
     */
    mayHearOfTool(principal: Principal, publicName: string): boolean {
      const entry = catalog.find('tool', publicName);
      if (entry) return access.mayFind(principal, entry);
      const view = access.viewOf(principal);
      if (!view) return true;
      const hints = () => hintsOf(undefined);
      const item = { kind: 'tool', name: publicName, ownName: publicName, hints } as const;
      const names = servers.all.map(({ config }) => config.name);
      return [undefined, ...names.filter(name => publicName.startsWith(name))].every(
        server =>
          view.policy.decide({ method: 'tools/call', server, item }, view.client).action !== 'deny',
      );
    },
    /** Fires after the list of tools has changed. */
    toolsChanged: (listener: () => void): Disposable =>
      catalog.changed(kind => {
        if (kind === 'tool') listener();
      }),
    /** All tools by their servers, also those that no client is shown. */
    shownTools: (): ReadonlyMap<Server, readonly ShownTool[]> => {
      const found = new Map<Server, ShownTool[]>();
      for (const { server, name, publicName, bytes, isHeld = false } of catalog.list('tool')) {
        const tools = found.get(server) ?? [];
        found.set(server, tools);
        tools.push({ name, publicName, bytes, isHeld });
      }
      return found;
    },
  };
}
