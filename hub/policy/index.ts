export type { Grants, Principal } from './principal.ts';
