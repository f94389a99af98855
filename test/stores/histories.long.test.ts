import { describeEveryStore } from './histories/every-store.js'

describeEveryStore(Number(process.env['HISTORY_STEPS'] ?? 5000), 1_800_000)
