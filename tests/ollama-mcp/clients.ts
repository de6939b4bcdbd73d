import {
  Client as ClientOfV2,
  StreamableHTTPClientTransport as HttpOfV2,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioOfV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientOfV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOfV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpOfV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { isObject } from '#core';

/** Official clients, with the revision that each speaks. */
export const clientKinds = [
  'SDK v1, 2025-11-25',
  'SDK v2, 2025-11-25',
  'SDK v2, 2026-07-28',
] as const;
type ClientKind = (typeof clientKinds)[number];

/** URL of a streamable HTTP server, or a program to start. */
type RunnerTarget =
  | string
  | { readonly file: string; readonly env?: Readonly<Record<string, string>> };

type Options = { readonly signal?: AbortSignal; readonly onProgress?: (text: string) => void };

type RunnerResult = {
  readonly isError: boolean;
  /** The code in `_meta` of an error. */
  readonly code: unknown;
  readonly retryable: unknown;
  readonly text: string;
  readonly structured: { readonly [key: string]: unknown };
};

export type Runner = AsyncDisposable & {
  call(tool: string, args?: Record<string, unknown>, options?: Options): Promise<RunnerResult>;
};

const info = { name: 'ollama-mcp-tests', version: '1.0.0' };

/** Connects an official client to ollama-mcp. */
export async function connectRunner(kind: ClientKind, target: RunnerTarget): Promise<Runner> {
  const command =
    typeof target === 'string'
      ? undefined
      : { command: process.execPath, args: [target.file], env: { ...target.env } };
  const url = typeof target === 'string' ? new URL(target) : new URL('http://unused');
  if (kind === 'SDK v1, 2025-11-25') {
    const client = new ClientOfV1(info);
    await client.connect(command ? new StdioOfV1(command) : new HttpOfV1(url));
    return over(client, (params, options) => client.callTool(params, undefined, options));
  }
  const isModern = kind === 'SDK v2, 2026-07-28';
  const client = new ClientOfV2(info, {
    versionNegotiation: { mode: isModern ? { pin: '2026-07-28' } : 'legacy' },
  });
  await client.connect(command ? new StdioOfV2(command) : new HttpOfV2(url));
  return over(client, (params, options) => client.callTool(params, options));
}

function over(
  client: { close(): Promise<void> },
  callTool: (
    params: { name: string; arguments: Record<string, unknown> },
    options: {
      signal?: AbortSignal;
      onprogress?: (progress: { message?: string | undefined }) => void;
      timeout: number;
    },
  ) => Promise<unknown>,
): Runner {
  return {
    async call(name, args = {}, { signal, onProgress } = {}) {
      const result = await callTool(
        { name, arguments: args },
        {
          timeout: 60_000,
          ...(signal && { signal }),
          ...(onProgress && { onprogress: ({ message = '' }) => onProgress(message) }),
        },
      );
      const { isError, content, structuredContent, _meta: meta } = isObject(result) ? result : {};
      const error = isObject(meta) ? meta['agenthub/error'] : undefined;
      const { code, retryable } = isObject(error) ? error : {};
      const first: unknown = Array.isArray(content) ? content[0] : undefined;
      return {
        isError: isError === true,
        code,
        retryable,
        text: isObject(first) ? String(first['text']) : '',
        structured: isObject(structuredContent) ? structuredContent : {},
      };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
