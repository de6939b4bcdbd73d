import { join } from 'node:path';
import type { RulesSource, Settings } from '#config';
import { createJournal } from '#store';
import type { ToolSearch } from '#toolsearch';
import { createLazyPart } from './lazy-part.ts';
import type { System } from './system.ts';
import type { ModelAccess } from './wire-models.ts';

type Needs = Pick<System, 'clock' | 'log'> & {
  readonly models: Pick<ModelAccess, 'open'>;
  /** Prompt rules. The embedding model that they name is preferred. */
  readonly prompts: { readonly rules: Pick<RulesSource, 'current'> };
};

const vectorsFile = 'tool-vectors.jsonl';
const maxBytes = 64 * 2 ** 20;

/** Creates the search of find mode, which is loaded when the first client in find mode connects. */
export function wireFind(settings: Pick<Settings, 'ollama'>, dataFolder: string, needs: Needs) {
  const { clock } = needs;
  const log = needs.log.child({ part: 'find' });
  const { open, stop } = createLazyPart(async () => {
    const room = await import('#toolsearch');
    if (settings.ollama.url === undefined)
      return { search: room.createToolSearch({ clock }), async [Symbol.asyncDispose]() {} };
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
    return {
      search: room.createToolSearch({ meanings, clock }),
      [Symbol.asyncDispose]: () => meanings.stop(),
    };
  });

  const search: ToolSearch = {
    prepare: tools =>
      void open().then(
        loaded => loaded.search.prepare(tools),
        () => undefined, // The search itself rejects with the reason.
      ),
    find: async (...asked) => await (await open()).search.find(...asked),
  };
  return { search, service: { start: async () => {}, stop } };
}
