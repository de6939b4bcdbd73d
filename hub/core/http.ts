/**
 * `node:http` and `node:https`. An `import` of them would read all their exports, among them those of
 * Node's fetch, which is then loaded: 14 MB of resident memory that the hub has no use for.
 */
export const http = process.getBuiltinModule('node:http');
export const https = process.getBuiltinModule('node:https');
