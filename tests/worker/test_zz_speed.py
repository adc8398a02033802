import time
async def test_speed(house):
    for _ in range(3):
        a=time.perf_counter()
        async with house.working():
            b=time.perf_counter()
        print("start",b-a,"stop",time.perf_counter()-b)
