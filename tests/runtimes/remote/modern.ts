import { metaKeys, modernVersion } from '#mcp';
import { call } from '../../contracts/recorder.ts';

/** Returns a request as a client of 2026-07-28 sends it. */
export const modern = (id: number, method: string, params: object = {}, meta: object = {}) =>
  call(id, method, {
    ...params,
    _meta: {
      [metaKeys.protocolVersion]: modernVersion,
      [metaKeys.clientCapabilities]: {},
      [metaKeys.clientInfo]: { name: 'test', version: '1' },
      ...meta,
    },
  });

/** Returns the cancellation of a request. */
export const cancel = (requestId: number) =>
  call(undefined, 'notifications/cancelled', { requestId, reason: 'enough' });
