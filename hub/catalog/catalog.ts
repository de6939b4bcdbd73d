import { type CatalogConfig, readCatalog } from '#config';
import { type Clock, HubError, type JsonObject, isObject, shown } from '#core';
import {
  type InstallOption,
  type InstallRequest,
  readInstallBody,
  readInstallOptions,
} from '#installs';
import type { Folder, Table } from '#store';
import { createStoredAnswers, maxAnswers } from './answers.ts';
import { type CatalogCard, cardOf } from './card.ts';
import { type CatalogSource, createRegistry } from './registry.ts';
import { type SecretStores, keepSecrets } from './secret-values.ts';

/** Number of servers per page. */
const pageSize = 30;
const maxWords = 100;

export type CatalogNeeds = {
  readonly config: () => CatalogConfig | undefined;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly fetch: typeof globalThis.fetch;
  readonly version: string;
  readonly index: Table;
  readonly bodies: Folder;
  /** `isKept`: true if a secret of this name exists. */
  readonly secrets: SecretStores;
};

type CatalogPage = {
  readonly servers: readonly CatalogCard[];
  /** Cursor of the next page; undefined on the last page, and if the registry was not reached. */
  readonly next: string | undefined;
  readonly source: CatalogSource;
};

type CatalogServer = {
  readonly card: CatalogCard;
  readonly options: readonly InstallOption[];
  readonly source: CatalogSource;
};

export type ServerCatalog = ReturnType<typeof createCatalog>;

export function createCatalog(needs: CatalogNeeds) {
  const answers = createStoredAnswers({ ...needs, maxAnswers });
  const registry = createRegistry({ ...needs, answers });
  /** Number of requests that are not disposed yet, by the name of a secret that they reserve. */
  const reserved = new Map<string, number>();
  /** Names of secrets that the catalog has stored: an install that is repeated may replace their values. */
  const own = new Set<string>();
  const secrets: SecretStores = {
    ...needs.secrets,
    async set(name, value) {
      await needs.secrets.set(name, value);
      own.add(name);
    },
    isKept: async name => !own.has(name) && (await needs.secrets.isKept(name)),
  };

  function reserve(name: string): Disposable {
    reserved.set(name, (reserved.get(name) ?? 0) + 1);
    return {
      [Symbol.dispose]() {
        const others = (reserved.get(name) ?? 1) - 1;
        if (others === 0) reserved.delete(name);
        else reserved.set(name, others);
      },
    };
  }

  /** Returns the catalog's config. Throws HUB_REQUEST_INVALID if the catalog is off. */
  function settings(): CatalogConfig {
    const config = needs.config() ?? readCatalog(undefined);
    if (config.enabled) return config;
    throw invalid('the catalog is off: "catalog.enabled" is false in the config');
  }

  /** Searches stored responses. Rejects with the given error if there are none. */
  async function searchStored(config: CatalogConfig, words: readonly string[], error: HubError) {
    const pages = await registry.stored(config, '/v0.1/servers?');
    const cards = new Map<string, CatalogCard>();
    for (const { body } of pages.toReversed())
      for (const card of cardsIn(body)) cards.set(card.name, card);
    const [newest] = pages;
    if (!newest) throw error;
    const source = {
      url: config.url,
      from: 'cache',
      at: newest.at,
      problem: error.message,
    } as const;
    const servers = [...cards.values()].filter(card => matches(card, words));
    return { servers: servers.slice(0, pageSize), next: undefined, source };
  }

  /** Returns a server, by default its newest version. Rejects with HUB_NAME_UNKNOWN or HUB_REGISTRY_UNREACHABLE. */
  async function get(
    name: string,
    version: string | undefined,
    signal: AbortSignal,
  ): Promise<CatalogServer> {
    const config = settings();
    const path = `/v0.1/servers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version ?? 'latest')}`;
    const found = await registry.get(config, path, signal);
    const card = found && cardOf(found.body);
    if (!found || card?.name !== name)
      throw new HubError(
        'HUB_NAME_UNKNOWN',
        `${config.url} has no server ${JSON.stringify(name.slice(0, 200))}${version === undefined ? '' : ` in version ${JSON.stringify(version.slice(0, 60))}`}. "agenthub search WORDS" finds names`,
      );
    // The server.json of the registry is validated like one from a caller.
    const server = isObject(found.body) ? found.body['server'] : undefined;
    const options = await readInstallOptions(await readInstallBody({ server }));
    return { card, options, source: found.source };
  }

  return {
    isOn: (): boolean => (needs.config() ?? readCatalog(undefined)).enabled,
    /** Searches words in names, titles and descriptions. Rejects with HUB_REGISTRY_UNREACHABLE without any data. */
    async search(
      query: string,
      cursor: string | undefined,
      signal: AbortSignal,
    ): Promise<CatalogPage> {
      const config = settings();
      const words = query
        .slice(0, maxWords)
        .toLowerCase()
        .split(/\s+/)
        .filter(word => word !== '');
      // The registry searches one text in names. All words are compared here.
      const longest = words.toSorted((one, other) => other.length - one.length)[0];
      const asked = new URLSearchParams({
        ...(longest !== undefined && { search: longest }),
        version: 'latest',
        limit: String(pageSize),
        ...(cursor !== undefined && { cursor }),
      });
      try {
        const found = await registry.get(config, `/v0.1/servers?${asked.toString()}`, signal);
        const cards = cardsIn(found?.body).filter(card => matches(card, words));
        const source = found?.source ?? {
          url: config.url,
          from: 'registry',
          at: needs.clock.now(),
          problem: undefined,
        };
        return { servers: cards, next: nextIn(found?.body), source };
      } catch (error) {
        if (!(error instanceof HubError) || cursor !== undefined) throw error;
        return await searchStored(config, words, error);
      }
    },
    get,
    /**
     * Returns the request to install a server. First stores the secrets among its values, to which the config file will
     * refer. `body`: as in `POST /catalog/install`. Reserves the names of the secrets until the request is disposed,
     * which must be after the install: only then does the config refer to them. Rejects with HUB_REQUEST_INVALID, or
     * like `get`.
     */
    async requestFor(body: unknown, signal: AbortSignal): Promise<CatalogRequest> {
      const { server, version, option: wanted, ...rest } = isObject(body) ? body : {};
      if (typeof server !== 'string' || server === '')
        throw invalid('server: write the name of a server in the catalog');
      if (version !== undefined && typeof version !== 'string')
        throw invalid(`version: ${shown(version)} is not allowed: write a string, such as "1.2.3"`);
      const found = await get(server, version, signal);
      const option = chosenOf(found, wanted);
      using undo = new DisposableStack();
      const kept = await keepSecrets(option, rest, secrets, {
        has: name => reserved.has(name),
        add: name => void undo.use(reserve(name)),
      });
      const request = await readInstallBody({ ...kept.body, server: option.server });
      // A user who enters a secret for a server has agreed that the server reads it.
      const confirm = [
        ...new Set([...request.confirm, ...kept.stored.map(one => `secret:${one}`)]),
      ];
      const names = undo.move();
      return {
        request: { ...request, confirm, isForeign: true },
        ...kept,
        [Symbol.dispose]: () => names.dispose(),
      };
    },
  };
}

/** A request to install a server of the catalog. Dispose it after the install. */
type CatalogRequest = Disposable & {
  readonly request: InstallRequest;
  /** The caller's request, with references in place of secret values. */
  readonly body: JsonObject;
  /** Names of the secrets that were stored. */
  readonly stored: readonly string[];
};

function cardsIn(body: unknown): readonly CatalogCard[] {
  const servers = isObject(body) ? body['servers'] : undefined;
  return Array.isArray(servers) ? servers.flatMap(item => cardOf(item) ?? []) : [];
}

function nextIn(body: unknown): string | undefined {
  const metadata = isObject(body) && isObject(body['metadata']) ? body['metadata'] : {};
  const { nextCursor } = metadata;
  return typeof nextCursor === 'string' && nextCursor !== '' && nextCursor.length <= 1_000
    ? nextCursor
    : undefined;
}

function matches({ name, title, description }: CatalogCard, words: readonly string[]): boolean {
  const text = `${name} ${title} ${description}`.toLowerCase();
  return words.every(word => text.includes(word));
}

/** Returns the option with this index, or the first installable one. Throws HUB_REQUEST_INVALID if there is none. */
function chosenOf({ card, options }: CatalogServer, wanted: unknown): InstallOption {
  if (wanted !== undefined) {
    const chosen = typeof wanted === 'number' ? options[wanted] : undefined;
    if (chosen) return chosen;
    throw invalid(
      `option: ${card.name} has ${options.length} options: write a number from 0 to ${options.length - 1}`,
    );
  }
  const first = options.find(({ refusal }) => refusal === undefined) ?? options[0];
  if (first) return first;
  throw invalid(
    `${card.name} names neither a package nor an address, so there is nothing to install`,
  );
}

const invalid = (message: string) => new HubError('HUB_REQUEST_INVALID', message);
