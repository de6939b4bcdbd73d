import type { FastifyInstance } from 'fastify';

/** The bytes of a message are the transport's: the routes of this scope get bodies as they came. */
export function takeBytes(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
}
