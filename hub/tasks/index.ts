export { contractSchemaText } from './contract.ts';
export { createModelCalls } from './model-calls/model-calls.ts';
export {
  type TaskPipeline,
  type TaskReportName,
  type TaskView,
  taskReports,
} from './task-types.ts';
