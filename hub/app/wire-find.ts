import { join } from 'node:path';
import type { RulesSource, Settings } from '#config';
import { type Clock, HubError, type Log } from '#core';
import { createJournal } from '#store';
import type { ToolSearch } from '#toolsearch';
import type { ModelAccess } from './wire-models.ts';

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  readonly models: Pick<ModelAccess, 'open'>;
  /** Prompt rules. The embedding model that they name is preferred. */
  readonly prompts: { readonly rules: Pick<RulesSource, 'current'> };
};

/** File in the data folder with the vectors of tools. */
const vectorsFile = 'tool-vectors.jsonl';
const maxBytes = 64 * 2 ** 20;

/** Creates the search of find mode, which is loaded when the first client in find mode connects. */
export function wireFind(settings: Pick<Settings, 'ollama'>, dataFolder: string, needs: Needs) {
  const { clock } = needs;
  const log = needs.log.child({ part: 'find' });
  let opening: ReturnType<typeof load> | undefined;
  let isStopped = false;

  async function load() {
    const room = await import('#toolsearch');
    if (settings.ollama.url === undefined)
      return { search: room.createToolSearch({ clock }), stop: async () => {} };
    const { models } = await needs.models.open();
    const preferred = () => needs.prompts.rules.current.embeddingModel;
    const file = join(dataFolder, vectorsFile);
    const meanings = room.createMeanings({
      model: room.createEmbeddingModel(preferred, { models, clock }),
      store: room.createVectorStore(snapshot =>
        createJournal({ file, maxBytes, snapshot }, { log }),
      ),
      clock,
      log,
    });
    return { search: room.createToolSearch({ meanings, clock }), stop: () => meanings.stop() };
  }

  /** Loads the search at its first use. Rejects with HUB_SHUTTING_DOWN after `stop`: what it opens would stay open. */
  async function opened() {
    if (!opening && isStopped) throw new HubError('HUB_SHUTTING_DOWN', 'the hub is stopping');
    return await (opening ??= load());
  }

  const search: ToolSearch = {
    prepare: tools =>
      void opened().then(
        loaded => loaded.search.prepare(tools),
        () => undefined, // The search itself rejects with the reason.
      ),
    find: async (...asked) => await (await opened()).search.find(...asked),
  };
  return {
    search,
    service: {
      start: async () => {},
      async stop(): Promise<void> {
        isStopped = true;
        const loaded = await opening?.catch(() => undefined); // Its searches had the error.
        await loaded?.stop();
      },
    },
  };
}
