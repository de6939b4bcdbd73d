import type { FastifyInstance } from 'fastify';

/** Returns the methods of a path: none if it is unknown. It knows the routes that are added after this call. */
export function createMethods(server: FastifyInstance): (path: string) => readonly string[] {
  const routes: { readonly path: RegExp; readonly methods: readonly string[] }[] = [];
  server.addHook('onRoute', ({ url, method }) => {
    const pattern = url.replace(/:[^/]+/g, '[^/]+').replace('*', '.*');
    routes.push({ path: new RegExp(`^${pattern}$`), methods: [method].flat() });
  });
  return path => {
    const known = routes.filter(route => route.path.test(path));
    return [...new Set(known.flatMap(route => route.methods))];
  };
}
