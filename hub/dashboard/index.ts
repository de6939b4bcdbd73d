export { explained } from './caches.ts';
export type { Part } from './changes.ts';
export { type Dashboard, createDashboard } from './dashboard.ts';
export type {
  DashboardAnswer,
  DashboardNeeds,
  DashboardRequest,
  HealthReport,
  LoginResult,
  PartHealth,
} from './dashboard-types.ts';
export { html, textOf } from './html.ts';
export type { ContainerUsage, ContainerUsages } from './server-view.ts';
export { fieldsOf } from './tool-fields.ts';
