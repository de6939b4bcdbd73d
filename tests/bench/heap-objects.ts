import assert from 'node:assert/strict';
import { once } from 'node:events';
import WebSocket from 'ws';
import { isObject } from '#core';

/** Types of snapshot nodes that are not objects of the program: V8 compiles and drops code at any time. */
const others: ReadonlySet<unknown> = new Set(['code', 'native', 'synthetic']);

/** Returns the size of a process's live objects in MB (10^6 bytes), through its inspector. Rejects without one. */
export async function heapObjectsMb(port: number): Promise<number> {
  const targets: unknown = await (await fetch(`http://127.0.0.1:${port}/json`)).json();
  const target: unknown = Array.isArray(targets) ? targets[0] : undefined;
  const url = isObject(target) ? String(target['webSocketDebuggerUrl']) : '';
  const socket = new WebSocket(url, { maxPayload: 0 });
  await once(socket, 'open');
  const chunks: string[] = [];
  const done = Promise.withResolvers<void>();
  socket.addEventListener('message', ({ data }) => {
    const { id, params } = JSON.parse(typeof data === 'string' ? data : '{}');
    if (id === 1) done.resolve();
    else if (params?.chunk !== undefined) chunks.push(params.chunk);
  });
  socket.on('close', () => done.reject(new Error('the inspector has ended')));
  try {
    // A heap snapshot collects garbage first.
    const method = 'HeapProfiler.takeHeapSnapshot';
    socket.send(JSON.stringify({ id: 1, method, params: { reportProgress: false } }));
    await done.promise;
    return sizeOf(JSON.parse(chunks.join(''))) / 1e6;
  } finally {
    socket.close();
  }
}

/** Returns the total size of all objects in a snapshot, in bytes. */
function sizeOf(snapshot: {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly unknown[];
    };
  };
  readonly nodes: readonly number[];
}): number {
  const { nodes } = snapshot;
  const { node_fields: fields, node_types: types } = snapshot.snapshot.meta;
  const typeNames: unknown = types[0];
  const size = fields.indexOf('self_size');
  assert.ok(Array.isArray(typeNames) && fields[0] === 'type' && size > 0);
  let sum = 0;
  for (let at = 0; at < nodes.length; at += fields.length)
    if (!others.has(typeNames[nodes[at] ?? 0])) sum += nodes[at + size] ?? 0;
  return sum;
}
