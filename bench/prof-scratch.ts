import { rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { messageId, runId, threadId, NO_USAGE, type ThreadCommit } from "@awaken/contract";
import { sqliteStore } from "@awaken/stores/sqlite";
const T=(n:number)=>threadId(`0192f000-0000-7000-8000-${String(n).padStart(12,"0")}`);
const R=(n:number)=>runId(`0192f111-0000-7000-8000-${String(n).padStart(12,"0")}`);
let ids=0;
function step(t:number, count:number): ThreadCommit {
  const th=T(t), r=R(t);
  const m1=messageId(`0192f222-0000-7000-8000-${String(ids++).padStart(12,"0")}`), m2=messageId(`0192f222-0000-7000-8000-${String(ids++).padStart(12,"0")}`);
  const now=Date.now();
  return { threadId: th, runId: r,
    messageDelta: { expectedMessageCount: count, messages: [
      { id:m1, role:"assistant", content:[{type:"text", text:"x".repeat(300)},{type:"tool-call", id: "call_1" as never, name:"search", input:{q:"weather in Bern"}}], metadata:{runId:r, stepIndex:count/2}},
      { id:m2, role:"tool", toolCallId:"call_1" as never, toolName:"search", status:"success", content:[{type:"text", text:"y".repeat(400)}], metadata:{runId:r, stepIndex:count/2}} ] },
    run: { schemaVersion:1, status:"running", runId:r, threadId:th, agentId:"assistant", activation:{intent:{type:"new-intent"}, options:{frontendTools:[]}, trace:{origin:"user",runMode:"foreground",adapter:"internal"}, seededDecisions:[]}, input:{triggerMessageIds:[], selectedMessageIds:[]}, createdAt: 1, updatedAt: now, startedAt:1, steps: count/2, usage: NO_USAGE, decided:[], state:{schemaVersion:1, revision:count, extensions:{a:{n:count}}} },
    threadState:{schemaVersion:1, revision:count, extensions:{"b":{n:count, s:"z".repeat(100)}}},
    events: Array.from({length:6},(_,i)=>({draft:{schemaVersion:1 as const, threadId:th, runId:r, kind:"tool-call-end", payload:{i, callId:"call_1", text:"p".repeat(60)}, visibility:"public" as const, origin:"runtime"}})),
  };
}
for (const sync of ["normal"] as const) {
  const f=`/tmp/sb/x-${sync}.db`; for (const s of ["","-wal","-shm"]) rmSync(f+s,{force:true});
  const store=sqliteStore(f,{synchronous:sync});
  await store.commit(step(1,0));
  let n=0, count=2, cpu=0; const t0=performance.now();
  while (performance.now()-t0<2000) { const c=step(1,count); const u0=process.cpuUsage(); await store.commit(c); const u=process.cpuUsage(u0); cpu+=u.user+u.system; count+=2; n++; }
  console.log("cpu us/commit", Math.round(cpu/n)); console.log(sync,"sequential",Math.round(n/2),"commits/s", Math.round(1e6/(n/2)),"us");
  // 64 concurrent
  const counts=Array.from({length:64},()=>0); let m=0; const t1=performance.now();
  await Promise.all(counts.map(async(_,k)=>{ while(performance.now()-t1<2000){ await store.commit(step(100+k,counts[k]!)); counts[k]!+=2; m++; } }));
  console.log(sync,"64 concurrent",Math.round(m/2));
  const st=await store.stats(); console.log("bytes/step", Math.round(st.bytes/(n+m+1)));
  await store.close();
  const b=new DatabaseSync(`/tmp/sb/bare-${sync}.db`); b.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=${sync}; CREATE TABLE IF NOT EXISTS t(id integer primary key, body text)`);
  const ins=b.prepare("insert into t(body) values(?)"); const body="q".repeat(400); const beg=b.prepare("BEGIN IMMEDIATE"), com=b.prepare("COMMIT");
  for (const rows of [1,10]) { let k=0; const t2=performance.now(); while(performance.now()-t2<1500){ beg.run(); for(let i=0;i<rows;i++) ins.run(body); com.run(); k++; } console.log(sync,"bare",rows,"rows",Math.round(k/1.5)); }
  b.close();
}
