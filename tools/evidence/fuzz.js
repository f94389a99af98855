// Has our verifier and `jose` judge the same tokens, most of them bad: exit 1 where they disagree without a reason.
// node tools/evidence/fuzz.js [--seconds 30] [--seed S] [--tokens N] [--from N]
import { importTypeScript } from '../shared/import-typescript.js'

const { reportFuzz } = await importTypeScript('test/fuzz/report-fuzz.ts')
if ((await reportFuzz(process.argv.slice(2))) > 0) process.exitCode = 1
