import { createRequire } from 'node:module';
import {
  type MessagePort,
  Worker,
  isMainThread,
  parentPort,
  workerData,
} from 'node:worker_threads';
import { HubError, type ThreadPace, createPace, isObject } from '#core';
import type { CommitClock } from '../commit-types.ts';
import { excludedByContent } from '../project/exclusions.ts';
import { type GrammarName, languageOf } from './languages.ts';
import { type Parse, outlineFile } from './outline-file.ts';
import type { Exclusion, FileOutline, SourceFileText } from './outline-types.ts';

type ParsedBatch = {
  readonly outlines: readonly FileOutline[];
  readonly excluded: readonly Exclusion[];
};

/** Parses files in a separate thread, so that a grammar in an endless loop can be terminated. */
export interface ParserThread extends AsyncDisposable {
  parse(files: readonly SourceFileText[]): Promise<ParsedBatch>;
}

type Needs = { readonly clock: CommitClock };

/** `workerData` of the parser thread. With it, this file calls `serve`. */
const role = 'agenthub-documentation-parser';
/** Timeout of a batch in ms. A grammar that needs longer is assumed to be in an endless loop. */
const batchMs = 60_000;
const maxOldSpaceMb = 96;
/** Maximum young generation of the thread. Small, because most of a syntax tree is soon garbage. */
const maxYoungSpaceMb = 1;

/** Creates a parser. Its thread is started with the first batch, and again after a batch that failed. */
export function createParserThread({ clock }: Needs): ParserThread {
  let worker: Worker | undefined;

  async function end(): Promise<void> {
    const ending = worker;
    worker = undefined;
    await ending?.terminate();
  }

  /** Parses a batch in the thread. Rejects if the thread ends or does not answer in time. */
  async function run(files: readonly SourceFileText[]): Promise<ParsedBatch> {
    worker ??= new Worker(new URL(import.meta.url), {
      workerData: role,
      resourceLimits: {
        maxOldGenerationSizeMb: maxOldSpaceMb,
        maxYoungGenerationSizeMb: maxYoungSpaceMb,
      },
    });
    const { promise, resolve, reject } = Promise.withResolvers<ParsedBatch>();
    const failed = (why: unknown) =>
      reject(new HubError('HUB_INTERNAL', `the parser ended: ${String(why)}`));
    const current = worker;
    current.once('message', resolve).once('error', failed).once('exit', failed);
    using _limit = clock.after(batchMs, () => failed('it did not answer'));
    try {
      current.postMessage(files);
      return await promise;
    } finally {
      current.off('message', resolve).off('error', failed).off('exit', failed);
    }
  }

  return {
    async parse(files) {
      try {
        return await run(files);
      } catch {
        // The thread failed, so list its files without symbols.
        await end();
        const outlines: FileOutline[] = [];
        const excluded: Exclusion[] = [];
        for (const file of files) {
          const exclusion = excludedByContent(file.path, file.text);
          if (exclusion) excluded.push(exclusion);
          else outlines.push(outlineFile(file, parseNothing, () => {}));
        }
        return { outlines, excluded };
      }
    },
    [Symbol.asyncDispose]: end,
  };
}

const parseNothing: Parse = () => undefined;

if (!isMainThread && workerData === role && parentPort) serve(parentPort);

/** Parses each batch that the port receives, and posts the result. */
function serve(port: MessagePort): void {
  const pace = createPace();
  const parsing = createParse(pace);
  port.on('message', (files: unknown) => {
    void parsing.then(async parsers => {
      const outlines: FileOutline[] = [];
      const excluded: Exclusion[] = [];
      for (const file of Array.isArray(files) ? files.filter(isSourceFileText) : []) {
        const exclusion = excludedByContent(file.path, file.text);
        if (exclusion) excluded.push(exclusion);
        else {
          await parsers.prepare(languageOf(file.path)?.grammar);
          outlines.push(outlineFile(file, parsers.parse, pace));
        }
        pace();
      }
      port.postMessage({ outlines, excluded } satisfies ParsedBatch);
    });
  });
}

const isSourceFileText = (value: unknown): value is SourceFileText =>
  isObject(value) && typeof value['path'] === 'string' && typeof value['text'] === 'string';

/**
 * Creates the parsers. The package is loaded here, and each grammar with the first file that needs it, because only
 * runs of the documentation use them.
 */
async function createParse(pace: ThreadPace) {
  const { default: treeSitter } = await import('@vscode/tree-sitter-wasm');
  const { Parser, Language } = treeSitter;
  await Parser.init();
  const require = createRequire(import.meta.url);
  const parsers = new Map<GrammarName, InstanceType<typeof Parser>>();
  return {
    async prepare(grammar: GrammarName | undefined): Promise<void> {
      if (grammar === undefined || parsers.has(grammar)) return;
      const file = require.resolve(`@vscode/tree-sitter-wasm/wasm/tree-sitter-${grammar}.wasm`);
      parsers.set(grammar, new Parser().setLanguage(await Language.load(file)));
    },
    parse: ((grammar, text, read) => {
      const tree = parsers.get(grammar)?.parse(text, null, { progressCallback: pace });
      try {
        return tree ? read(tree.rootNode) : undefined;
      } finally {
        tree?.delete();
      }
    }) satisfies Parse,
  };
}
