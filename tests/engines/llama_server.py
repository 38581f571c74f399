"""llama.cpp behind an address, until it is killed: python llama_server.py MODEL.gguf PORT. Needs xllamacpp alone."""

import sys
import time

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = int(sys.argv[2])
params.use_jinja = True  # the model's own chat template
params.n_parallel = 4
params.n_ctx = 4 * 2048
for threads in (params.cpuparams, params.cpuparams_batch):
    threads.n_threads = 1  # several wait for each other by spinning, which takes ages where others use the processor
server = xllamacpp.Server(params)
while True:
    time.sleep(3600)
